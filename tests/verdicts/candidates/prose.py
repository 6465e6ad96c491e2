I am sorry, but here is some prose about kernels.
