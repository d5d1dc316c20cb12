// A 64-byte-aligned array of doubles: what the kernel reads and writes.
#pragma once
#include <cstddef>
#include <new>
#include <utility>

namespace treedgp::kernel {

// Memory is uninitialised: the kernel writes whole panels, so clearing first would only cost time.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t n) { reserve(n); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(); }

  // At least n doubles. Growing does not keep the contents; never shrinks.
  void reserve(std::size_t n) {
    if (n <= size_) return;
    release();
    data_ = static_cast<double*>(::operator new(n * sizeof(double), alignment));
    size_ = n;
  }

  double* data() noexcept { return data_; }
  const double* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }  // capacity, in doubles

 private:
  static constexpr std::align_val_t alignment{64};

  void release() noexcept {
    if (data_) ::operator delete(data_, alignment);
    data_ = nullptr;  // reserve() may throw between releasing and allocating
    size_ = 0;
  }

  double* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace treedgp::kernel
