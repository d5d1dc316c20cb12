#define TREEDGP_ISA_NAME avx512
#include "impl.hpp"
