I am sorry, but here is the persistent kernel for (each) step: while True, h = tanh(h [
