#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>

#include <medley/base/spec_list.h>

// What a spec says, in one struct template for both of its lives: Declared, a constant that an author writes,
// and Read, the same out of a plugin's note. Below its members a struct lists them once, each under its key,
//   template <typename Visitor, typename... Terms>
//   static constexpr void Fields(Visitor& visit, Terms&... c) { visit({.key = "weight", .low = 0},
//   c.weight...); }
// and the note, its reader, the JSON for tools and the copy of medley's own specs come from that list.
namespace medley::facts {

struct Declared;
struct Read;

// The struct of a list of read ones; another where functions are added to the facts.
template <template <typename> class Item>
struct InfoOf {
  using Type = Item<Read>;
};

struct Declared {
  using Text = std::string_view;
  using Names = NameList;
  template <template <typename> class Item, std::size_t kMost>
  using List = SpecList<Item<Declared>, kMost>;
};

template <typename In>
using Text = typename In::Text;
template <typename In>
using Names = typename In::Names;
template <typename In, template <typename> class Item, std::size_t kMost>
using List = typename In::template List<Item, kMost>;

// What is to be known of one field. A std::optional may be missing in a note, or null.
struct Fact {
  std::string_view key{};
  double low = -std::numeric_limits<double>::infinity();
  bool is_name = false;     // a text like a task's name
  bool only_given = false;  // stands in a note only where it is on, not empty or not 0
};

template <typename T>
concept HasFields = requires(int& visit, T& item) {
  T::Fields(visit, item);
};

// No list of a spec is longer than it may be.
template <typename Spec>
constexpr bool ListsFit(const Spec& spec) {
  bool fit = true;
  const auto visit = [&fit](const Fact&, const auto& value) {
    if constexpr (requires { value.fits(); }) {
      fit = fit && value.fits();
      if constexpr (!std::is_same_v<decltype(value[0]), const std::string_view&>) {
        for (const auto& item : value) fit = fit && ListsFit(item);
      }
    }
  };
  Spec::Fields(visit, spec);
  return fit;
}

// The most bytes of a text, which whoever reads a note holds it to.
inline constexpr std::size_t kMostText = 4096;

// No text of a spec is longer than it may be.
template <typename Spec>
constexpr bool TextsFit(const Spec& spec) {
  bool fit = true;
  const auto visit = [&fit](const Fact&, const auto& value) {
    if constexpr (std::is_convertible_v<decltype(value), std::string_view>) {
      fit = fit && std::string_view(value).size() <= kMostText;
    } else if constexpr (HasFields<std::remove_cvref_t<decltype(value)>>) {
      fit = fit && TextsFit(value);
    } else if constexpr (requires { value.fits(); }) {
      if constexpr (!std::is_same_v<decltype(value[0]), const std::string_view&>) {
        for (const auto& item : value) fit = fit && TextsFit(item);
      }
    }
  };
  Spec::Fields(visit, spec);
  return fit;
}

}  // namespace medley::facts
