// Philox4x32-10 (Salmon et al. 2011): a counter-based generator. Every draw is a function of
// (seed, chain, round, index), so threads, chunks and resumed runs cannot change it.
#pragma once
#include <array>
#include <cstdint>

namespace treedgp {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox_4x32_10(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace treedgp
