int kgen_run( {
