#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <kernels/fused_testing.h>
#include <kernels/host_device.h>

namespace {
int g_launches = 0;
}
extern "C" void medley_fake_cuda_launched() { ++g_launches; }

namespace medley::kernels {
namespace {

std::vector<unsigned> g_seen;

const char* RunKernel(std::size_t blocks, unsigned threads, void (*kernel)()) {
  return Launch(kernel, blocks, threads, 1024, nullptr);
}

TEST(HostDevice, RunsEveryThreadOfEveryBlockAndIsCounted) {
  g_seen.assign(5 * 96, 0), g_launches = 0;
  EXPECT_STREQ(RunKernel(5, 96, [] { ++g_seen[blockIdx.x * blockDim.x + threadIdx.x]; }), nullptr);
  EXPECT_EQ(g_seen, std::vector<unsigned>(5 * 96, 1));
  EXPECT_EQ(g_launches, 1);
}

TEST(HostDevice, ABarrierIsPassedWhenAllThreadsOfTheBlockAreThere) {
  for (const bool is_reversed : {false, true}) {
    medley_host_kernels_reverse(is_reversed);
    g_seen.assign(64 * 3, 0);
    const char* const words = RunKernel(3, 64, [] {
      float* const shared = SharedFloats();
      for (unsigned round = 1; round < 4; ++round) {
        shared[threadIdx.x] = static_cast<float>(threadIdx.x * round);
        __syncthreads();
        if (shared[63 - threadIdx.x] == static_cast<float>((63 - threadIdx.x) * round))
          ++g_seen[blockIdx.x * 64 + threadIdx.x];
        __syncthreads();
      }
    });
    EXPECT_STREQ(words, nullptr);
    EXPECT_EQ(g_seen, std::vector<unsigned>(64 * 3, 3));
  }
  medley_host_kernels_reverse(false);
}

TEST(HostDevice, AShuffleGivesTheOtherLanesValue) {
  g_seen.assign(64, 0);
  const char* const words = RunKernel(1, 64, [] {
    unsigned sum = threadIdx.x;
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0U, sum, apart);
    g_seen[threadIdx.x] = sum;
  });
  EXPECT_STREQ(words, nullptr);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(g_seen[i], 31 * 16 + (i < 32 ? 0 : 32 * 32));
}

TEST(HostDevice, ABarrierThatNotAllThreadsReachIsAnError) {
  const char* const of_block = "the stand-in for a GPU: not all threads of a block come to the same barrier";
  const char* const of_warp =
      "the stand-in for a GPU: not all threads of a warp come to the same barrier or shuffle";
  EXPECT_STREQ(RunKernel(2, 64,
                         [] {
                           if (threadIdx.x < 32) __syncthreads();
                         }),
               of_block);
  EXPECT_STREQ(RunKernel(2, 64,
                         [] {
                           if (threadIdx.x != 40) __syncthreads();
                         }),
               of_warp);
  EXPECT_STREQ(RunKernel(2, 64,
                         [] {
                           if (threadIdx.x == 40) __shfl_xor_sync(~0U, 1, 1);
                         }),
               of_warp);
  EXPECT_STREQ(RunKernel(2, 64, [] { threadIdx.x < 5 ? __syncthreads() : void(__shfl_xor_sync(~0U, 1, 1)); }),
               of_warp);
  EXPECT_STREQ(RunKernel(2, 40, [] {}), "the stand-in for a GPU: a block has no whole warps, or too many");
  EXPECT_STREQ(RunKernel(2, 64, [] { __syncthreads(); }), nullptr);  // and the next launch is none the worse
}

// Bits of a half against the nearest of two neighbours in double.
template <typename T>
void ExpectNearest(double value) {
  T rounded;
  Round(static_cast<float>(value), rounded);
  const double error = std::abs(Widened(rounded) - value);
  for (const int apart : {-1, 1}) {
    const T other{static_cast<std::uint16_t>(rounded.bits + apart)};
    const double others = std::abs(static_cast<double>(Widened(other)) - value);
    ASSERT_TRUE(!(others < error)) << value;
    if (others == error) {
      ASSERT_EQ(rounded.bits % 2, 0) << value;
    }
  }
}

TEST(HalfNumbers, AreWidenedExactlyAndRoundedToTheNearest) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent < 31) {
      ASSERT_EQ(Widened(Fp16{half}), (bits >> 15 ? -1 : 1) * magnitude) << bits;
    }
    Fp16 again_fp16;
    Bf16 again_bf16;
    Round(Widened(Fp16{half}), again_fp16), Round(Widened(Bf16{half}), again_bf16);
    if (!std::isnan(Widened(Fp16{half}))) {
      ASSERT_EQ(again_fp16.bits, half);
    }
    if (!std::isnan(Widened(Bf16{half}))) {
      ASSERT_EQ(again_bf16.bits, half);
    }
    ASSERT_EQ(std::isnan(Widened(Fp16{half})), std::isnan(Widened(again_fp16)));
    ASSERT_EQ(std::isnan(Widened(Bf16{half})), std::isnan(Widened(again_bf16)));
  }
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> exponent(-26, 15.9);
  for (int i = 0; i < 100000; ++i) {
    const auto value =
        static_cast<double>(static_cast<float>(std::exp2(exponent(engine)) * (i % 2 == 0 ? 1 : -1)));
    ExpectNearest<Fp16>(value), ExpectNearest<Bf16>(value);
    ExpectNearest<Bf16>(FloatOf(BitsOf(static_cast<float>(value)) & ~0x7fff));  // often just between two
    ExpectNearest<Fp16>(FloatOf(BitsOf(static_cast<float>(value)) & ~0xfff));
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [value, expected] :
       {std::pair{65519.0F, 65504.0F}, {65520.0F, infinity}, {-1e9F, -infinity}, {infinity, infinity}}) {
    Fp16 rounded;
    Round(value, rounded);
    EXPECT_EQ(Widened(rounded), expected);
  }
}

}  // namespace
}  // namespace medley::kernels
