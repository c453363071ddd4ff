#include <medley/checkpoint/divided_state.h>

#include <ATen/ops/cat.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartPrefix = "optim-rank-";

struct PlacedPart {
  std::string name;  // of the whole
  NumberRange numbers;
};

std::optional<std::int64_t> PlaceFrom(std::string_view text) {
  std::int64_t place = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  const bool good = !text.empty() && error == std::errc() && end == text.data() + text.size() && place >= 0;
  return good ? std::optional(place) : std::nullopt;
}

// Of "NAME[begin:end]".
std::optional<PlacedPart> PlacedPartOf(std::string_view text) {
  const std::size_t open = text.rfind('['), colon = text.rfind(':');
  if (!text.ends_with(']') || open == text.npos || colon == text.npos || colon < open) return std::nullopt;
  const auto begin = PlaceFrom(text.substr(open + 1, colon - open - 1)),
             end = PlaceFrom(text.substr(colon + 1, text.size() - colon - 2));
  if (!begin || !end || *end <= *begin) return std::nullopt;
  return PlacedPart{std::string(text.substr(0, open)), {*begin, *end}};
}

// By the place of the first number.
using PartsOfOne = std::map<std::int64_t, at::Tensor>;

void ReadParts(const fs::path& file, std::map<std::string, PartsOfOne>& parts) {
  for (const auto& [name, tensor] : MapSafetensors(file)) {
    const std::optional<PlacedPart> part = PlacedPartOf(name);
    if (!part || tensor.sizes() != at::IntArrayRef{part->numbers.size()})
      throw InputError(Printable(file) + ": '" + Printable(name) +
                       "' does not say which part of a tensor it is");
    if (!parts[part->name].emplace(part->numbers.begin, tensor).second)
      throw InputError(Printable(file) + ": another file has '" + Printable(name) + "' too");
  }
}

// How many numbers they are.
std::int64_t CheckedNumbers(const std::string& name, const PartsOfOne& parts) {
  std::int64_t done = 0;
  for (const auto& [begin, tensor] : parts) {
    const bool fits = tensor.scalar_type() == parts.begin()->second.scalar_type();
    if (begin != done || !fits)
      throw InputError("the parts of " + name + " do not fit together behind its number " +
                       std::to_string(done) + ": the files of the processes are not of one checkpoint");
    done += tensor.numel();
  }
  return done;
}

at::Tensor Joined(const PartsOfOne& parts, const NumberRange& range) {
  std::vector<at::Tensor> list;
  for (const auto& [first, tensor] : parts) {
    const std::int64_t begin = std::max(range.begin, first),
                       end = std::min(range.end, first + tensor.numel());
    if (begin < end) list.push_back(tensor.narrow(0, begin - first, end - begin));
  }
  return list.empty() ? parts.begin()->second.narrow(0, 0, 0) : at::cat(list);
}

}  // namespace

std::string PartFile(const ShardPlace& place) {
  return std::string(kPartPrefix) + std::to_string(place.rank) + "-of-" + std::to_string(place.ranks) +
         ".safetensors";
}

std::vector<Parameter> WithPlaces(const std::vector<TensorPart>& parts) {
  std::vector<Parameter> placed;
  for (const TensorPart& part : parts) {
    placed.push_back(part.tensor);
    placed.back().name += "[" + std::to_string(part.begin) + ":" +
                          std::to_string(part.begin + part.tensor.tensor.numel()) + "]";
  }
  return placed;
}

std::set<std::string> JoinParts(const fs::path& checkpoint, std::map<std::string, at::Tensor>& saved,
                                const WantedNumbers& wanted) {
  std::map<std::string, PartsOfOne> parts;
  for (const fs::path& file : ListDirectory(checkpoint)) {
    if (file.filename().string().starts_with(kPartPrefix)) ReadParts(file, parts);
  }
  std::set<std::string> names;
  for (const auto& [name, of_one] : parts) {
    const std::int64_t numbers = CheckedNumbers(name, of_one);
    const auto range = wanted ? wanted(name, numbers) : NumberRange{0, numbers};
    if (!range) continue;
    if (!saved.emplace(name, Joined(of_one, *range)).second)
      throw InputError(Printable(checkpoint) + " has " + name + " as a whole and in parts");
    names.insert(name);
  }
  return names;
}

}  // namespace medley
