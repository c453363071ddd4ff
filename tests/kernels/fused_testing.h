#pragma once

#include <gtest/gtest.h>
#include <medley/kernels/cuda_module.h>
#include <medley/kernels/numbers.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

extern "C" {
medley::kernels::CudaUpdateEightBits medley_kernels_update_8bit;
medley::kernels::CudaUpdateHalves medley_kernels_update_bf16;
medley::kernels::CudaNorm medley_kernels_norm;
medley::kernels::CudaNormBackward medley_kernels_norm_backward;
medley::kernels::CudaGated medley_kernels_gated;
medley::kernels::CudaGatedBackward medley_kernels_gated_backward;
medley::kernels::CudaLosses medley_kernels_losses;
medley::kernels::CudaLossesBackward medley_kernels_losses_backward;
medley::kernels::CudaAdamW medley_kernels_adamw;
void medley_host_kernels_reverse(bool is_reversed);
}

namespace medley::kernels {

inline constexpr Number kNumberTypes[] = {Number::kFloat, Number::kBf16, Number::kFp16};
constexpr std::size_t BytesOf(Number type) { return type == Number::kFloat ? 4 : 2; }
// Half of what lies between a number and the next, in parts of it.
constexpr double RoundingOf(Number type) {
  return type == Number::kFloat ? 0x1p-24 : type == Number::kBf16 ? 0x1p-8 : 0x1p-11;
}

// Numbers of a type with bytes before and behind that nobody may write. Not a number at first, and so stays
// what no test expects.
class Buffer {
 public:
  // Its first number lies so many behind a multiple of 16 bytes.
  Buffer(Number type, std::int64_t numbers, std::int64_t misaligned = 0)
      : type_(type),
        numbers_(static_cast<std::size_t>(numbers)),
        begin_(kGuard + static_cast<std::size_t>(misaligned) * BytesOf(type)),
        bytes_(begin_ + numbers_ * BytesOf(type) + kGuard, kGuardByte) {
    EXPECT_TRUE(IsAligned(bytes_.data()));
    std::memset(data(), 0xff, numbers_ * BytesOf(type));
    is_expected_.resize(numbers_);
  }
  ~Buffer() {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const bool is_inside = i >= begin_ && i < begin_ + numbers_ * BytesOf(type_);
      if (!is_inside) {
        EXPECT_EQ(bytes_[i], kGuardByte) << "written out of bounds, at byte " << i;
      }
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() { return bytes_.data() + begin_; }
  float* floats() { return static_cast<float*>(data()); }
  Number type() const { return type_; }
  std::int64_t size() const { return static_cast<std::int64_t>(numbers_); }

  double operator[](std::int64_t i) const {
    const unsigned char* const from = bytes_.data() + begin_ + static_cast<std::size_t>(i) * BytesOf(type_);
    return type_ == Number::kFloat  ? As<float>(from)
           : type_ == Number::kBf16 ? As<Bf16>(from)
                                    : As<Fp16>(from);
  }
  void Set(std::int64_t i, double value) {
    unsigned char* const to = bytes_.data() + begin_ + static_cast<std::size_t>(i) * BytesOf(type_);
    const auto number = static_cast<float>(value);
    if (type_ == Number::kFloat) Put<float>(number, to);
    if (type_ == Number::kBf16) Put<Bf16>(number, to);
    if (type_ == Number::kFp16) Put<Fp16>(number, to);
  }
  Buffer& Fill(std::mt19937& engine, double scale, double middle = 0) {
    std::normal_distribution<double> normal(middle, scale);
    for (std::int64_t i = 0; i < size(); ++i) Set(i, normal(engine));
    return *this;
  }

  // Rounded once from what float makes of numbers of this magnitude, in about so many operations.
  void Expect(std::int64_t i, double value, double magnitude, double operations = 16) {
    is_expected_[static_cast<std::size_t>(i)] = true;
    const double least = type_ == Number::kFp16 ? 0x1p-25 : 1e-38,
                 tolerance =
                     1.01 * RoundingOf(type_) * std::abs(value) + operations * 0x1p-24 * magnitude + least;
    if (!(std::abs((*this)[i] - value) <= tolerance) && ++failures_ < 4)
      ADD_FAILURE() << "number " << i << " is " << (*this)[i] << ", not " << value << " by " << tolerance;
  }
  // Call behind all Expect of an output.
  void ExpectNoOther() const {
    for (std::int64_t i = 0; i < size(); ++i) {
      if (!is_expected_[static_cast<std::size_t>(i)]) {
        ASSERT_TRUE(std::isnan((*this)[i])) << "written: " << i;
      }
    }
  }

  std::vector<unsigned char> bytes() const { return bytes_; }
  // Where they are.
  void Restore(const std::vector<unsigned char>& bytes) {
    std::memcpy(bytes_.data(), bytes.data(), bytes.size());
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kGuardByte = 0xa5;

  template <typename T>
  static double As(const unsigned char* from) {
    T number;
    std::memcpy(&number, from, sizeof number);
    return Widened(number);
  }
  template <typename T>
  static void Put(float number, unsigned char* to) {
    T rounded;
    Round(number, rounded);
    std::memcpy(to, &rounded, sizeof rounded);
  }

  Number type_;
  std::size_t numbers_, begin_;
  std::vector<unsigned char> bytes_;
  std::vector<bool> is_expected_;
  int failures_ = 0;
};

// The call twice on the same outputs, with blocks and threads in their order and in the reverse one: whose
// bits are the same, or there is a barrier missing.
inline void RunBothWays(const std::vector<Buffer*>& outputs, const std::function<const char*()>& call) {
  std::vector<std::vector<unsigned char>> before, forward;
  for (const Buffer* output : outputs) before.push_back(output->bytes());
  EXPECT_STREQ(call(), nullptr);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    forward.push_back(outputs[i]->bytes());
    outputs[i]->Restore(before[i]);
  }
  medley_host_kernels_reverse(true);
  EXPECT_STREQ(call(), nullptr);
  medley_host_kernels_reverse(false);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    EXPECT_EQ(outputs[i]->bytes(), forward[i]) << "output " << i << " depends on the order of threads";
}

inline std::int64_t Below(std::mt19937& engine, std::int64_t end) {
  return std::uniform_int_distribution<std::int64_t>(0, end - 1)(engine);
}
template <typename T, std::size_t kCount>
T OneOf(std::mt19937& engine, const T (&choices)[kCount]) {
  return choices[Below(engine, kCount)];
}

}  // namespace medley::kernels
