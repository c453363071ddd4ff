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

// A list by the name of its field, how many are in it, and how many may be.
struct ListLength {
  char name[32]{};
  std::size_t given = 0, most = 0;
};

// The first list of a spec that is longer than it may be; one without a name where there is none.
template <typename Spec>
constexpr ListLength LongList(const Spec& spec) {
  ListLength found;
  const auto visit = [&found](const Fact& fact, const auto& value) {
    if constexpr (requires { value.fits(); }) {
      if (found.given == 0 && !value.fits()) {
        found.given = value.given(), found.most = value.kMost;
        for (std::size_t i = 0; i < fact.key.size() && i + 1 < sizeof found.name; ++i)
          found.name[i] = fact.key[i];
      }
      if constexpr (!std::is_same_v<decltype(value[0]), const std::string_view&>) {
        for (const auto& item : value) {
          if (found.given == 0) found = LongList(item);
        }
      }
    }
  };
  Spec::Fields(visit, spec);
  return found;
}

// The compiler prints what a template was made of, and so says more than a message of ours can.
template <ListLength kList>
struct FitsTheFormat {
  static_assert(
      kList.given <= kList.most,
      "medley: a list of a spec is longer than the format allows: which one, how many it has and how "
      "many it may have stand above, in FitsTheFormat<...>");
  static constexpr bool kSaid = true;  // makes the compiler look into it, and adds no message
};

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
