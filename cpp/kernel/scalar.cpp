#define TREEDGP_SCALAR  // any C++20 compiler: W = 1, no vector extensions
#define TREEDGP_ISA_NAME scalar
#include "impl.hpp"
