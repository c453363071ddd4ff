#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace medley {

// How the processes of a run write what they tell each other: as numbers of 64 bits. A message is a tuple, or
// says its fields once, for who writes and who reads: auto Fields() { return std::tie(step, failed, sums); }
// A number or a flag is one; a text its length and its bytes, eight in each; a map its size, keys and values;
// an optional whether there is one; a list its elements: who reads it knows how many.
class Wire {
 public:
  Wire() = default;  // to be written
  explicit Wire(std::vector<std::int64_t> numbers) : numbers_(std::move(numbers)), reads_(true) {}

  template <typename Field>
  void Visit(Field& field) {
    if constexpr (std::is_same_v<Field, double>) {
      field = std::bit_cast<double>(Next(std::bit_cast<std::int64_t>(field)));
    } else if constexpr (std::is_integral_v<Field> || std::is_enum_v<Field>) {
      field = static_cast<Field>(Next(static_cast<std::int64_t>(field)));
    } else if constexpr (std::is_same_v<Field, std::string>) {
      field.resize(Size(field.size(), 8));
      for (std::size_t i = 0; i < field.size(); i += 8) {
        std::int64_t eight = 0;
        std::memcpy(&eight, field.data() + i, std::min<std::size_t>(8, field.size() - i));
        eight = Next(eight);
        std::memcpy(field.data() + i, &eight, std::min<std::size_t>(8, field.size() - i));
      }
    } else if constexpr (requires { field.Fields(); }) {
      auto fields = field.Fields();
      Visit(fields);
    } else if constexpr (requires { field.has_value(); }) {
      bool is_there = field.has_value();
      Visit(is_there);
      if (is_there) Visit(field ? *field : field.emplace());
    } else if constexpr (requires { typename Field::mapped_type; }) {
      std::vector<std::pair<typename Field::key_type, typename Field::mapped_type>> pairs(field.begin(),
                                                                                          field.end());
      pairs.resize(Size(pairs.size(), 1));
      Visit(pairs);
      field = Field(pairs.begin(), pairs.end());
    } else if constexpr (requires { field.begin(); }) {
      for (auto& one : field) Visit(one);
    } else {
      std::apply([&](auto&... each) { (Visit(each), ...); }, field);
    }
  }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }

 private:
  // The one that was written, or the next; of numbers that were cut off, 0.
  std::int64_t Next(std::int64_t number) {
    if (reads_) return at_ < numbers_.size() ? numbers_[at_++] : 0;
    return numbers_.emplace_back(number);
  }

  // Of a text or a map, of which a number holds so many; no more than can follow.
  std::size_t Size(std::size_t written, std::size_t in_each) {
    const auto size = static_cast<std::size_t>(Next(static_cast<std::int64_t>(written)));
    return reads_ ? std::min(size, in_each * (numbers_.size() - at_)) : size;
  }

  std::vector<std::int64_t> numbers_;
  bool reads_ = false;
  std::size_t at_ = 0;
};

template <typename Message>
std::vector<std::int64_t> ToWire(Message message) {
  Wire wire;
  wire.Visit(message);
  return wire.numbers();
}

// `message`: whose lists are as long.
template <typename Message>
Message FromWire(std::vector<std::int64_t> numbers, Message message = {}) {
  Wire(std::move(numbers)).Visit(message);
  return message;
}

}  // namespace medley
