// treedgp._testing.kernel: the leaf kernel by instruction-set name, on its own padded layouts (treedgp/kernel/ops.hpp).
// Outputs start as NaN, so a test sees an element the kernel forgot to write.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "treedgp/kernel/buffer.hpp"
#include "treedgp/kernel/ops.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace treedgp::kernel;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

const Ops& table(const std::string& isa) {
  const Ops* found = find(isa.c_str());
  if (!found) throw std::invalid_argument("expected an instruction set this machine runs, got '" + isa + "'");
  return *found;
}

void expect(bool ok, const std::string& what) {
  if (!ok) throw std::invalid_argument("expected " + what);
}

Buffer unwritten(std::size_t n) {
  Buffer b(n);
  std::fill_n(b.data(), n, std::numeric_limits<double>::quiet_NaN());
  return b;
}

template <class Array>
Buffer copy_in(const Array& a) {
  Buffer b(a.size());
  std::copy_n(a.data(), a.size(), b.data());
  return b;
}

Output copy_out(const Buffer& b) {
  double* data = new double[b.size()];
  std::copy_n(b.data(), b.size(), data);
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return Output(data, {b.size()}, owner);
}

std::vector<std::string> isas() {
  std::vector<std::string> names;
  for (const char* name : {"scalar", "baseline", "avx2", "avx512vl", "avx512"})
    if (find(name)) names.emplace_back(name);
  return names;
}

Output correlate(const std::string& isa, int family, Matrix xs, int n) {
  const Ops& k = table(isa);
  const int dims = static_cast<int>(xs.shape(0)), np = static_cast<int>(xs.shape(1));
  expect(np == panel_rows(n, k.width), "xs of shape (dims, padded n)");
  const Buffer in = copy_in(xs);
  Buffer kstar = unwritten(triangle_size(np, k.width));
  k.correlate(Family(family), in.data(), dims, n, np, kstar.data());
  return copy_out(kstar);
}

Output cross(const std::string& isa, int family, Matrix xs, int n, Matrix xnew) {
  const Ops& k = table(isa);
  const int dims = static_cast<int>(xs.shape(0)), np = static_cast<int>(xs.shape(1));
  const int nqp = static_cast<int>(xnew.shape(1));
  expect(np == panel_rows(n, k.width) && nqp % k.width == 0 && xnew.shape(0) == xs.shape(0), "padded xs and xnew");
  const Buffer old_points = copy_in(xs), new_points = copy_in(xnew);
  Buffer extra = unwritten(extra_size(nqp, np, k.width));
  k.cross(Family(family), old_points.data(), n, np, new_points.data(), nqp, dims, extra.data());
  return copy_out(extra);
}

// (half log-determinant, L, extra, kstar as it is afterwards)
std::tuple<double, Output, Output, Output> factor(const std::string& isa, Vector kstar, Vector noise, Vector extra) {
  const Ops& k = table(isa);
  const int np = static_cast<int>(noise.size());
  expect(np > 0 && np % k.width == 0 && kstar.size() == triangle_size(np, k.width), "kstar and noise padded alike");
  const int ne = static_cast<int>(extra.size()) / (np * k.width);
  expect(extra.size() == extra_size(ne * k.width, np, k.width), "whole extra panels");
  const Buffer correlations = copy_in(kstar), diagonal = copy_in(noise);
  Buffer L = unwritten(kstar.size()), rows = copy_in(extra);
  const double half_logdet = k.factor(correlations.data(), diagonal.data(), np, L.data(), rows.data(), ne);
  return {half_logdet, copy_out(L), copy_out(rows), copy_out(correlations)};
}

// What `op` of the table makes of extra rows: &Ops::solve and its like.
template <auto op>
Output change_rows(const std::string& isa, Vector L, Vector extra, int np) {
  const Ops& k = table(isa);
  expect(np % k.width == 0 && L.size() == triangle_size(np, k.width), "the triangle of np rows");
  const int ne = static_cast<int>(extra.size()) / (np * k.width);
  expect(extra.size() == extra_size(ne * k.width, np, k.width), "whole extra panels");
  const Buffer factor = copy_in(L);
  Buffer rows = copy_in(extra);
  (k.*op)(factor.data(), np, rows.data(), ne);
  return copy_out(rows);
}

Output invert(const std::string& isa, Vector L, int np) {
  const Ops& k = table(isa);
  expect(np % k.width == 0 && L.size() == triangle_size(np, k.width), "the triangle of np rows");
  const Buffer factor = copy_in(L);
  Buffer rows = unwritten(extra_size(np, np, k.width));
  k.invert(factor.data(), np, rows.data());
  return copy_out(rows);
}

// (extra, R flattened by columns)
std::tuple<Output, Output> orthogonalise(const std::string& isa, Vector extra, int np, int rows) {
  const Ops& k = table(isa);
  expect(np % k.width == 0 && extra.size() >= extra_size(rows, np, k.width), "at least `rows` extra rows");
  Buffer q = copy_in(extra), r = unwritten(static_cast<std::size_t>(rows) * rows);
  k.orthogonalise(q.data(), np, rows, r.data());
  return {copy_out(q), copy_out(r)};
}

// (inner products flattened by columns, squared norms of b)
std::tuple<Output, Output> products(const std::string& isa, Vector a, Vector b, int np) {
  const Ops& k = table(isa);
  const std::size_t panel = static_cast<std::size_t>(np) * k.width;
  expect(np % k.width == 0 && a.size() % panel == 0 && b.size() % panel == 0, "whole panels of extra rows");
  Buffer rows_a = copy_in(a), rows_b = copy_in(b);
  const int panels_a = static_cast<int>(a.size() / panel), panels_b = static_cast<int>(b.size() / panel);
  const std::size_t count = static_cast<std::size_t>(panels_b) * k.width;
  Buffer out = unwritten(count * panels_a * k.width), norms = unwritten(count);
  k.products(rows_a.data(), panels_a, rows_b.data(), panels_b, np, out.data());
  k.squared_norms(rows_b.data(), panels_b, np, norms.data());
  return {copy_out(out), copy_out(norms)};
}

// CPU seconds of one likelihood evaluation (scale, correlate, factor with 4 extra rows, orthogonalise), and of its
// correlation part alone: the best of many, since interruptions only add.
std::tuple<double, double> time_likelihood(const std::string& isa, int n, int dims, int repeats) {
  const Ops& k = table(isa);
  const int np = panel_rows(n, k.width), rows = 4, panels = panel_rows(rows, k.width) / k.width;
  Buffer x(static_cast<std::size_t>(dims) * np), xs(static_cast<std::size_t>(dims) * np), noise(np);
  Buffer kstar(triangle_size(np, k.width)), l(triangle_size(np, k.width)), extra(extra_size(rows, np, k.width));
  for (int i = 0; i < dims * np; ++i) x.data()[i] = std::fmod(0.6180339887 * i * (1 + i % 7), 1.0);
  for (int i = 0; i < np; ++i) noise.data()[i] = i < n ? 0.1 : 0.0;
  std::vector<double> r(rows * rows);
  double whole = 1e9, correlation = 1e9;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < dims * np; ++i) xs.data()[i] = 1.4 * x.data()[i];
    k.correlate(Family::gaussian, xs.data(), dims, n, np, kstar.data());
    const auto middle = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < extra_size(rows, np, k.width); ++i) extra.data()[i] = 1;
    k.factor(kstar.data(), noise.data(), np, l.data(), extra.data(), panels);
    k.orthogonalise(extra.data(), np, rows, r.data());
    const auto end = std::chrono::steady_clock::now();
    whole = std::min(whole, std::chrono::duration<double>(end - begin).count());
    correlation = std::min(correlation, std::chrono::duration<double>(middle - begin).count());
  }
  return {whole, correlation};
}

}  // namespace

void bind_kernel(nb::module_& m) {
  nb::module_ kernel = m.def_submodule("kernel", "The leaf kernel, by instruction set.");
  kernel.def("isas", isas, "Instruction sets compiled in and supported by this CPU.");
  kernel.def("chosen_isa", [] { return std::string(isa()); });
  kernel.def("width", [](const std::string& isa) { return table(isa).width; }, "isa"_a);
  kernel.def("correlate", correlate, "isa"_a, "family"_a, "xs"_a, "n"_a);
  kernel.def("cross", cross, "isa"_a, "family"_a, "xs"_a, "n"_a, "xnew"_a);
  kernel.def("factor", factor, "isa"_a, "kstar"_a, "noise"_a, "extra"_a);
  kernel.def("solve", change_rows<&Ops::solve>, "isa"_a, "L"_a, "extra"_a, "np"_a);
  kernel.def("solve_transposed", change_rows<&Ops::solve_transposed>, "isa"_a, "L"_a, "extra"_a, "np"_a);
  kernel.def("multiply", change_rows<&Ops::multiply>, "isa"_a, "L"_a, "extra"_a, "np"_a);
  kernel.def("invert", invert, "isa"_a, "L"_a, "np"_a);
  kernel.def("orthogonalise", orthogonalise, "isa"_a, "extra"_a, "np"_a, "rows"_a);
  kernel.def("time_likelihood", time_likelihood, "isa"_a, "n"_a, "dims"_a, "repeats"_a);
  kernel.def("products", products, "isa"_a, "a"_a, "b"_a, "np"_a);
}
