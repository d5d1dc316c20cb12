// The leaf kernel of one instruction set; contracts in treedgp/kernel/ops.hpp.
// Included by one translation unit per instruction set, which names its table by TREEDGP_ISA_NAME.
// No std templates in here: the linker could keep the AVX-512 copy of one for every CPU.
#include "cholesky.hpp"
#include "correlation.hpp"
#include "gram_schmidt.hpp"
#include "products.hpp"
#include "treedgp/kernel/ops.hpp"

#define TREEDGP_TABLE_(isa) isa##_ops
#define TREEDGP_TABLE(isa) TREEDGP_TABLE_(isa)
#define TREEDGP_STRING_(isa) #isa
#define TREEDGP_STRING(isa) TREEDGP_STRING_(isa)

namespace treedgp::kernel {

extern const Ops TREEDGP_TABLE(TREEDGP_ISA_NAME);  // const alone would mean internal linkage
const Ops TREEDGP_TABLE(TREEDGP_ISA_NAME) = {
    TREEDGP_STRING(TREEDGP_ISA_NAME), W, correlate, cross, factor, solve, solve_transposed, multiply, invert,
    orthogonalise, products, squared_norms};

}  // namespace treedgp::kernel
