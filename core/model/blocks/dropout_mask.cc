#include <medley/model/blocks/dropout_mask.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

#include <medley/base/random.h>
#include <medley/model/parallel_for.h>

namespace medley {
namespace {

// A number's bits: 32-bit multiplications, which a CPU does for several numbers at once, by the constants of
// the public-domain hash-prospector (Wellons 2018). Both constants are below 2^31, for libtorch has no
// unsigned products. Half of the line's key is the counter's start, the other joins half way, so that two
// lines are never parts of one sequence.
constexpr std::uint32_t kStep = 0x9e3779b9, kFirst = 0x21f0aaad, kSecond = 0x735a2d97;
constexpr std::uint32_t kPositive = 0x7fffffff;  // of a number's bits, those that count

// As RandomMask's numbers are compared with it: kept where not above.
std::int32_t LastKept(double kept) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(std::llround(kept * 0x1.0p31) - 1, 0, kPositive));
}

void FillLine(std::uint64_t key, std::int32_t last, std::int64_t width, bool* mask) {
  const auto start = static_cast<std::uint32_t>(key), other = static_cast<std::uint32_t>(key >> 32);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(width); ++i) {
    std::uint32_t x = start + i * kStep;
    x = (x ^ (x >> 16)) * kFirst ^ other;
    x = (x ^ (x >> 15)) * kSecond;
    mask[i] = static_cast<std::int32_t>((x ^ (x >> 15)) & kPositive) <= last;
  }
}

// The numbers of dimensions between the first and the last join the key one after the other.
std::uint64_t LineKey(std::uint64_t key, std::int64_t line, at::IntArrayRef middle) {
  std::int64_t below = 1;
  for (const std::int64_t size : middle) below *= size;
  for (const std::int64_t size : middle) {
    below /= size;
    key = CombineSeeds(key, static_cast<std::uint64_t>(line / below));
    line %= below;
  }
  return key;
}

struct MaskedLines {
  explicit MaskedLines(at::IntArrayRef sizes)
      : width(sizes.size() > 1 ? sizes.back() : 1),
        middle(sizes.size() > 1 ? sizes.slice(1, sizes.size() - 2) : at::IntArrayRef()) {
    for (const std::int64_t size : middle) of_key *= size;
  }
  std::int64_t width;
  at::IntArrayRef middle;
  std::int64_t of_key = 1;
};

at::Tensor ShiftRight(const at::Tensor& x, int bits) {
  return x.bitwise_right_shift(bits).bitwise_and_((std::int64_t{1} << (64 - bits)) - 1);
}

at::Tensor MixBits(const at::Tensor& bits) {
  at::Tensor x = bits + static_cast<std::int64_t>(0x9e3779b97f4a7c15ULL);
  x.bitwise_xor_(ShiftRight(x, 30)).mul_(static_cast<std::int64_t>(0xbf58476d1ce4e5b9ULL));
  x.bitwise_xor_(ShiftRight(x, 27)).mul_(static_cast<std::int64_t>(0x94d049bb133111ebULL));
  return x.bitwise_xor_(ShiftRight(x, 31));
}

constexpr std::int64_t kNumbersAtOnce = 1 << 20;  // enough to fill a GPU

// Lines [n] int64 -> mask [n, width].
void FillByOperators(const at::Tensor& lines, std::int32_t last, at::Tensor mask) {
  const std::int64_t width = mask.size(1);
  const at::Tensor steps = at::arange(width, lines.options()).mul_(kStep).to(at::kInt);
  const at::Tensor start = lines.to(at::kInt).unsqueeze(1),
                   other = lines.bitwise_right_shift(32).to(at::kInt).unsqueeze(1);
  at::Tensor x = start + steps;
  at::Tensor high = at::empty_like(x);
  const auto fold = [&](int bits) {
    at::bitwise_right_shift_out(high, x, bits);
    x.bitwise_xor_(high.bitwise_and_((1 << (32 - bits)) - 1));
  };
  fold(16);
  x.mul_(static_cast<std::int32_t>(kFirst)).bitwise_xor_(other);
  fold(15);
  x.mul_(static_cast<std::int32_t>(kSecond));
  fold(15);
  at::le_out(mask, x.bitwise_and_(static_cast<std::int32_t>(kPositive)), last);
}

}  // namespace

at::Tensor RowKeys(std::uint64_t seed, std::int64_t begin, std::int64_t rows, at::Device device) {
  if (!device.is_cpu()) {
    const auto options = at::TensorOptions(at::kLong).device(device);
    return CombineKeys(at::full({rows}, static_cast<std::int64_t>(seed), options),
                       at::arange(begin, begin + rows, options));
  }
  at::Tensor keys = at::empty({rows}, at::kLong);
  std::int64_t* key = keys.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < rows; ++i)
    key[i] = static_cast<std::int64_t>(CombineSeeds(seed, static_cast<std::uint64_t>(begin + i)));
  return keys;
}

at::Tensor CombineKeys(const at::Tensor& keys, const at::Tensor& numbers) {
  return MixBits(keys.bitwise_xor(MixBits(numbers + 0x632be59bd9b4e019LL)));
}

at::Tensor ItemsInRows(const at::Tensor& row) {
  return at::arange(row.numel(), row.options()) - at::searchsorted(row, row);
}

at::Tensor RandomMask(const at::Tensor& keys, at::IntArrayRef sizes, double kept) {
  if (!keys.is_cpu()) return RandomMaskByOperators(keys, sizes, kept);
  at::Tensor mask = at::empty(sizes, at::kBool);
  const MaskedLines lines(sizes);
  const std::int32_t last = LastKept(kept);
  const std::int64_t* key = keys.const_data_ptr<std::int64_t>();
  bool* out = mask.mutable_data_ptr<bool>();
  constexpr std::int64_t kGrain = 1 << 15;  // numbers
  ParallelFor(0, keys.numel() * lines.of_key, kGrain / std::max<std::int64_t>(lines.width, 1) + 1,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t line = begin; line < end; ++line) {
                  const auto seed = static_cast<std::uint64_t>(key[line / lines.of_key]);
                  FillLine(LineKey(seed, line % lines.of_key, lines.middle), last, lines.width,
                           out + line * lines.width);
                }
              });
  return mask;
}

at::Tensor RandomMaskByOperators(const at::Tensor& keys, at::IntArrayRef sizes, double kept) {
  at::Tensor mask = at::empty(sizes, keys.options().dtype(at::kBool));
  const MaskedLines lines(sizes);
  at::Tensor line_keys = keys;
  for (const std::int64_t size : lines.middle)
    line_keys = CombineKeys(line_keys.unsqueeze(-1), at::arange(size, keys.options()));
  line_keys = line_keys.flatten();
  const at::Tensor flat = mask.view({line_keys.numel(), lines.width});
  const std::int64_t at_once =
      std::max<std::int64_t>(kNumbersAtOnce / std::max<std::int64_t>(lines.width, 1), 1);
  for (std::int64_t begin = 0; begin < line_keys.numel(); begin += at_once) {
    const std::int64_t count = std::min(at_once, line_keys.numel() - begin);
    FillByOperators(line_keys.narrow(0, begin, count), LastKept(kept), flat.narrow(0, begin, count));
  }
  return mask;
}

std::int64_t RandomMaskWorkspace(std::int64_t lines, std::int64_t width) {
  const std::int64_t at_once = std::max(kNumbersAtOnce, width);
  // Two numbers of 4 bytes for each that is made at once; of a line its key while it is combined.
  return 8 * std::min(lines * width, at_once) + 5 * 8 * lines + 12 * width;
}

}  // namespace medley
