#define TREEDGP_ISA_NAME avx2
#include "impl.hpp"
