#pragma once

#include <nlohmann/json.hpp>

namespace medley {

// A list of what `to_json` makes of each item.
template <typename Items, typename Fn>
nlohmann::ordered_json JsonList(const Items& items, Fn to_json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& item : items) list.push_back(to_json(item));
  return list;
}

}  // namespace medley
