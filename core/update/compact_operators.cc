#include <medley/update/compact_operators.h>

#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <vector>

#include <medley/model/gpu_kernels.h>

namespace medley {
namespace {

constexpr std::int64_t kPiece = 1 << 18;  // numbers at a time; whole blocks
constexpr std::int64_t kWord = 0xffffffffLL;
constexpr float kLeastScale = 1e-37F, kLeastSquare = 3.25e-7F;  // of code 1

at::Tensor TableOf(kernels::Map map) {
  const auto values = kernels::DynamicMap(map);
  return at::tensor(std::vector<float>(values.begin(), values.end()));
}

at::Tensor MiddlesOf(kernels::Map map) {
  const auto values = kernels::DynamicMap(map);
  std::vector<float> middles;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) middles.push_back((values[i] + values[i + 1]) / 2);
  return at::tensor(middles);
}

}  // namespace

// So many numbers as so many blocks: the last block of a tensor may be a part of one, and is a piece of its
// own.
struct CompactOperators::Piece {
  at::Tensor weights, gradients, means, squares;  // [numbers]
  at::Tensor mean_scales, square_scales;          // [blocks]
  std::int64_t place = 0;
};

bool CompactOperators::IsFor(at::Device device) {
  return !device.is_cpu() && !device.is_meta() && !KernelsProblem(device).empty();
}

std::int64_t CompactOperators::BytesFor(MomentsKind kind) {
  return kind == MomentsKind::kBf16 ? kPiece * (3 * 4 + 3 * 8)
                                    : kPiece * (3 * 4 + 4) + 4 * (2 * 256 + 2 * 255);
}

CompactOperators::CompactOperators(MomentsKind kind, at::Device device) : kind_(kind) {
  const auto options = at::TensorOptions(device).dtype(at::kFloat);
  for (at::Tensor* scratch : {&mean_, &square_, &root_}) *scratch = at::empty({kPiece}, options);
  if (kind == MomentsKind::kBf16) {
    places_ = at::arange(kPiece, options.dtype(at::kLong));
    random_ = at::empty({kPiece}, options.dtype(at::kLong));
    other_ = at::empty({kPiece}, options.dtype(at::kLong));
    return;
  }
  codes_ = at::empty({kPiece}, options.dtype(at::kInt));
  mean_map_ = TableOf(kernels::Map::kSigned).to(device);
  square_map_ = TableOf(kernels::Map::kUnsigned).to(device);
  mean_middles_ = MiddlesOf(kernels::Map::kSigned).to(device);
  square_middles_ = MiddlesOf(kernels::Map::kUnsigned).to(device);
}

void CompactOperators::Update(const CompactUpdate& update) {
  const std::int64_t numbers = update.weights.numel();
  const auto piece = [&](std::int64_t first, std::int64_t size) {
    const auto part = [&](const at::Tensor& all) { return all.view(-1).narrow(0, first, size); };
    const auto scales = [&](const at::Tensor& all) {
      return all.defined() ? all.narrow(0, first / kernels::kBlock, kernels::BlocksOf(size)) : all;
    };
    UpdatePiece({part(update.weights), part(update.gradients), part(update.means), part(update.squares),
                 scales(update.mean_scales), scales(update.square_scales), update.place + first},
                update.rates);
  };
  const std::int64_t whole = numbers - numbers % kernels::kBlock;
  for (std::int64_t first = 0; first < whole; first += kPiece) piece(first, std::min(kPiece, whole - first));
  if (whole < numbers) piece(whole, numbers - whole);
}

void CompactOperators::UpdatePiece(const Piece& piece, const kernels::AdamWRates& rates) {
  const std::int64_t size = piece.weights.numel();
  const bool is_half = kind_ == MomentsKind::kBf16;
  at::Tensor mean = mean_.narrow(0, 0, size), square = square_.narrow(0, 0, size),
             root = root_.narrow(0, 0, size);
  at::Tensor gradients = piece.gradients, weights = piece.weights;
  if (is_half) {
    mean.copy_(piece.means), square.copy_(piece.squares);
  } else {
    Decode(piece.means, piece.mean_scales, mean_map_, mean);
    Decode(piece.squares, piece.square_scales, square_map_, square);
  }
  if (rates.gradient_scale != 1) gradients.mul_(rates.gradient_scale);
  mean.lerp_(gradients, rates.gain1);
  square.mul_(rates.keep2).addcmul_(gradients, gradients, rates.gain2);
  at::sqrt_out(root, square).mul_(rates.root_scale).add_(rates.epsilon);
  if (rates.keep_weight != 1) weights.mul_(rates.keep_weight);
  weights.addcdiv_(mean, root, -rates.step);
  if (is_half) {
    MakeRandom(piece.place, size, rates);
    at::Tensor random = random_.narrow(0, 0, size), sixteen = other_.narrow(0, 0, size);
    Round(mean, piece.means, at::bitwise_and_out(sixteen, random, 0xffff));
    Round(square, piece.squares, at::bitwise_right_shift_out(sixteen, random, 16));
  } else {
    Encode(mean, piece.means, piece.mean_scales, mean_middles_, false);
    Encode(square, piece.squares, piece.square_scales, square_middles_, true);
  }
}

void CompactOperators::Decode(const at::Tensor& codes, const at::Tensor& scales, const at::Tensor& map,
                              const at::Tensor& out) {
  at::Tensor places = codes_.narrow(0, 0, codes.numel()), values = out;
  places.copy_(codes);
  at::index_select_out(values, map, 0, places);
  values.view({scales.size(0), -1}).mul_(scales.unsqueeze(1));
}

void CompactOperators::Encode(const at::Tensor& values, const at::Tensor& codes, const at::Tensor& scales,
                              const at::Tensor& middles, bool is_square) {
  at::Tensor scaled = root_.narrow(0, 0, values.numel()), places = codes_.narrow(0, 0, values.numel()),
             to = scales;
  at::abs_out(scaled, values);
  at::amax_out(to, scaled.view({scales.size(0), -1}), {1});
  at::Tensor by_block = scaled.view({scales.size(0), -1});
  at::div_out(by_block, values.view({scales.size(0), -1}), scales.clamp_min(kLeastScale).unsqueeze(1));
  if (is_square) {  // what is above 0 stays so; the means are done with
    at::Tensor least = mean_.narrow(0, 0, values.numel());
    at::gt_out(least, values, 0).mul_(kLeastSquare);
    at::maximum_out(scaled, scaled, least);
  }
  at::bucketize_out(places, scaled, middles, /*out_int32=*/true);
  at::Tensor(codes).copy_(places);
}

// As kernels::RandomBits, of places from this one on.
void CompactOperators::MakeRandom(std::int64_t place, std::int64_t size, const kernels::AdamWRates& rates) {
  at::Tensor random = random_.narrow(0, 0, size), shifted = other_.narrow(0, 0, size);
  const auto mix = [&](int shift) {
    random.bitwise_xor_(at::bitwise_right_shift_out(shifted, random, shift));
  };
  at::add_out(random, places_.narrow(0, 0, size), place);
  random.bitwise_and_(kWord).mul_(0x9E3779B1LL).bitwise_and_(kWord);
  mix(15);
  random.mul_(0x85EBCA6BLL).bitwise_and_(kWord);
  mix(13);
  random.mul_(static_cast<std::int64_t>(rates.multiplier)).add_(static_cast<std::int64_t>(rates.shift));
  random.bitwise_and_(kWord);
}

void CompactOperators::Round(const at::Tensor& values, const at::Tensor& halves, const at::Tensor& random) {
  at::Tensor bits = values.view(at::kInt);
  bits.add_(random).bitwise_right_shift_(16);
  halves.view(at::kShort).copy_(bits);
}

}  // namespace medley
