#include "../precomp.hpp"
int cudatracking_dummy() {return 0;}
