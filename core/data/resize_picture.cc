#include <medley/data/resize_picture.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <medley/base/error.h>

namespace medley {
namespace {

constexpr int kColours = 3;

// As libtorch's kernels of antialiased bytes: weights of 16 bits with as many of them behind the point as the
// largest one leaves, sums of 32.
// Keys' cubic convolution (1981), in the order of operations of PIL and libtorch, on which bits hang.
double CubicWeight(double x) {
  constexpr double kA = -0.5;  // PIL's
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}
double LinearWeight(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Which pixels of a line each of the pixels [begin, end) of the resized line is made of, and how much.
class Taps {
 public:
  struct Tap {
    std::int64_t first = 0, count = 0;
    std::size_t weights = 0;  // where they begin
  };

  Taps(std::int64_t from, std::int64_t to, std::int64_t begin, std::int64_t end,
       PictureRule::Resampling resampling)
      : cubic_(resampling == PictureRule::Resampling::kBicubic),
        scale_(static_cast<double>(from) / static_cast<double>(to)),
        support_((cubic_ ? 2 : 1) * std::max(scale_, 1.0)) {
    // The most that any pixel takes of another sets the precision of all, also of those that are not asked
    // for.
    double most = 0;
    std::vector<double> weights;
    for (std::int64_t i = 0; i < to; ++i) {
      const Tap tap = WeightsOf(i, from, weights);
      for (std::int64_t j = 0; j < tap.count; ++j)
        most = std::max(most, weights[static_cast<std::size_t>(j)]);
      if (i < begin || i >= end) continue;
      taps_.push_back(tap);
      taps_.back().weights = exact_.size();
      exact_.insert(exact_.end(), weights.begin(), weights.end());
    }
    while (precision_ < kMostPrecision &&
           static_cast<int>(0.5 + most * static_cast<double>(1 << (precision_ + 1))) < (1 << 15))
      ++precision_;
    const double unit = static_cast<double>(1 << precision_);
    for (const double weight : exact_)
      weights_.push_back(static_cast<std::int16_t>(weight < 0 ? weight * unit - 0.5 : weight * unit + 0.5));
  }

  const std::vector<Tap>& taps() const { return taps_; }
  // Of values `stride` bytes apart, of which the first lies at `from`.
  std::uint8_t Sum(const Tap& tap, const std::uint8_t* from, std::int64_t stride) const {
    std::int32_t sum = precision_ == 0 ? 0 : 1 << (precision_ - 1);
    const std::int16_t* weight = weights_.data() + tap.weights;
    for (std::int64_t j = 0; j < tap.count; ++j, from += stride) sum += weight[j] * *from;
    return static_cast<std::uint8_t>(std::clamp(sum >> precision_, 0, 255));
  }

 private:
  static constexpr int kMostPrecision = 22;

  Tap WeightsOf(std::int64_t i, std::int64_t from, std::vector<double>& weights) const {
    const double centre = scale_ * (static_cast<double>(i) + 0.5), inverse = scale_ >= 1 ? 1 / scale_ : 1;
    Tap tap;
    tap.first = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support_ + 0.5), 0);
    tap.count = std::min(static_cast<std::int64_t>(centre + support_ + 0.5), from) - tap.first;
    weights.clear();
    double total = 0;
    for (std::int64_t j = 0; j < tap.count; ++j) {
      const double x = (static_cast<double>(j + tap.first) - centre + 0.5) * inverse;
      weights.push_back(cubic_ ? CubicWeight(x) : LinearWeight(x));
      total += weights.back();
    }
    for (double& weight : weights) weight /= total;
    return tap;
  }

  bool cubic_;
  double scale_, support_;
  int precision_ = 0;
  std::vector<Tap> taps_;
  std::vector<double> exact_;
  std::vector<std::int16_t> weights_;
};

// A side of the resized picture, and the stretch of it that the model sees.
struct Side {
  Side(std::int64_t from, std::int64_t whole, std::int64_t size)
      : from(from),
        whole(whole),
        begin(whole > size ? (whole - size) / 2 : 0),
        end(begin + std::min(whole, size)),
        black(whole < size ? (size - whole) / 2 : 0) {}

  std::int64_t length() const { return end - begin; }

  std::int64_t from, whole, begin, end;
  std::int64_t black;  // pixels in front of it
};

// The columns of each line, for those lines alone that the next step reads.
Picture Narrowed(const Picture& picture, const Side& side, PictureRule::Resampling resampling,
                 std::int64_t first, std::int64_t lines) {
  const Taps taps(side.from, side.whole, side.begin, side.end, resampling);
  Picture out(side.length(), lines);
  std::uint8_t* to = out.pixels.data();
  for (std::int64_t y = 0; y < lines; ++y) {
    const std::uint8_t* line = picture.pixels.data() + (first + y) * picture.width * kColours;
    for (const Taps::Tap& tap : taps.taps()) {
      for (int colour = 0; colour < kColours; ++colour)
        *to++ = taps.Sum(tap, line + tap.first * kColours + colour, kColours);
    }
  }
  return out;
}

std::int64_t WholeSide(std::int64_t side, std::int64_t other, std::int64_t size, const PictureRule& rule) {
  if (rule.shortest_edge == 0) return size;
  if (side <= other) return rule.shortest_edge;
  // In this order, and cut, as torchvision has it.
  return static_cast<std::int64_t>(static_cast<double>(rule.shortest_edge * side) /
                                   static_cast<double>(other));
}

}  // namespace

Picture ResizePicture(const Picture& picture, std::int64_t size, const PictureRule& rule) {
  const std::string found = std::to_string(picture.width) + " x " + std::to_string(picture.height);
  if (picture.width < 1 || picture.height < 1 || size < 1)
    throw Error("a picture of " + found + " pixels cannot become one of " + std::to_string(size) +
                " a side: there must be one at least");
  if (!rule.resizes) {
    if (picture.width == size && picture.height == size) return picture;
    throw Error("a picture has " + found + " pixels, expected " + std::to_string(size) +
                " a side: the model says of none how it would become one of its size");
  }
  const Side across(picture.width, WholeSide(picture.width, picture.height, size, rule), size);
  const Side down(picture.height, WholeSide(picture.height, picture.width, size, rule), size);
  const Taps taps(down.from, down.whole, down.begin, down.end, rule.resampling);
  const std::int64_t first = taps.taps().front().first;
  const std::int64_t behind = taps.taps().back().first + taps.taps().back().count;
  const Picture lines = Narrowed(picture, across, rule.resampling, first, behind - first);

  Picture out(size, size);
  const std::int64_t stride = lines.width * kColours;
  std::uint8_t* to = out.pixels.data() + (down.black * size + across.black) * kColours;
  for (const Taps::Tap& tap : taps.taps()) {
    const std::uint8_t* from = lines.pixels.data() + (tap.first - first) * stride;
    for (std::int64_t i = 0; i < stride; ++i) to[i] = taps.Sum(tap, from + i, stride);
    to += size * kColours;
  }
  return out;
}

}  // namespace medley
