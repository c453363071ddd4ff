#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/base/random.h>

namespace medley::test {

// Of every kind of value, some five levels deep.
inline nlohmann::json RandomJson(RowRandom& random, int depth) {
  using nlohmann::json;
  switch (random.Below(depth > 4 ? 5 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return random.Coin();
    case 2:
      return random.Below(1000) - 500;
    case 3:
      return std::ldexp(random.Uniform() - 0.5, static_cast<int>(random.Below(80)) - 40);
    case 4:
      return std::string("a\"\\/\n\u00e9 ").substr(0, static_cast<std::size_t>(random.Below(6)));
    case 5: {
      json array = json::array();
      for (std::int64_t i = random.Below(4); i > 0; --i) array.push_back(RandomJson(random, depth + 1));
      return array;
    }
    default: {
      json object = json::object();
      for (std::int64_t i = random.Below(4); i > 0; --i) {
        object["k\"" + std::to_string(i)] = RandomJson(random, depth + 1);
      }
      return object;
    }
  }
}

}  // namespace medley::test
