#define TREEDGP_ISA_NAME baseline
#include "impl.hpp"
