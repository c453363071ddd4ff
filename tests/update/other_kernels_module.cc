extern "C" const int medley_kernels_version = 0;
