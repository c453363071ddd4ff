#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <medley/base/facts.h>

namespace medley::facts {

// Types of a spec that was read; see facts.h.
struct Read {
  using Text = std::string;
  using Names = std::vector<std::string>;
  template <template <typename> class Item, std::size_t>
  using List = std::vector<typename InfoOf<Item>::Type>;
};

}  // namespace medley::facts
