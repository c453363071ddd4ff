#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace medley {

// A list of at most N items that a constexpr spec can hold.
template <typename T, std::size_t N>
class SpecList {
 public:
  static constexpr std::size_t kMost = N;

  constexpr SpecList() noexcept {}  // a defaulted one ends GCC 12 where a template has such a member
  // A longer list is cut, and the compiler says so where the plugin is declared: an exception here would only
  // make it say that kSpec is no constant.
  constexpr SpecList(std::initializer_list<T> items) {
    for (const T& item : items) Add(item);
  }

  constexpr void Add(const T& item) {
    if (size_ < N)
      items_[size_++] = item;
    else
      ++left_out_;
  }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr bool fits() const { return left_out_ == 0; }
  // How many were given: more than kMost where it was cut.
  constexpr std::size_t given() const { return size_ + left_out_; }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::array<T, N> items_{};
  std::size_t size_ = 0;
  std::uint32_t left_out_ = 0;
};

using NameList = SpecList<std::string_view, 8>;

}  // namespace medley
