// The normal density exp(-x^2/2) cut into 128 layers of equal area (Marsaglia & Tsang 2000). Layer i lies under the
// density at its right edge; layer 0 is as wide as its area asks for, and stands for the tail too.
#pragma once
#include <array>
#include <cmath>

namespace treedgp {

struct Ziggurat {
  static constexpr int layers = 128;
  static constexpr double base = 3.442619855896652, area = 9.912563035336461e-3;  // they close the top layer at x = 0

  std::array<double, layers + 1> edge, density;

  Ziggurat() {
    auto height = [](double x) { return std::exp(-0.5 * x * x); };
    edge[0] = area / height(base);
    edge[1] = base;
    for (int i = 2; i < layers; ++i) edge[i] = std::sqrt(-2 * std::log(area / edge[i - 1] + height(edge[i - 1])));
    edge[layers] = 0;
    for (int i = 0; i <= layers; ++i) density[i] = height(edge[i]);
  }
};

inline const Ziggurat ziggurat;

}  // namespace treedgp
