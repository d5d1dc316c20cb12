#define TREEDGP_AVX512VL  // AVX-512 with four lanes a panel: shorter chains of dependent steps
#define TREEDGP_ISA_NAME avx512vl
#include "impl.hpp"
