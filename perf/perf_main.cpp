#include "opencv2/ts.hpp"
CV_PERF_TEST_MAIN(cudatracking)
