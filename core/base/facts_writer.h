#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include <medley/base/constexpr_json.h>
#include <medley/base/facts.h>

namespace medley::detail {

// Writes specs into a plugin's note.
template <typename Sink>
class FactsWriter : public ConstexprJson<Sink> {
 public:
  using Json = ConstexprJson<Sink>;
  using Json::Json, Json::Raw, Json::String, Json::Integer, Json::Number, Json::Boolean, Json::List;

  template <typename Spec>
  constexpr void Object(const Spec& spec) {
    std::string_view before = "{\"";
    const auto visit = [&](const facts::Fact& fact, const auto& value) {
      if (fact.only_true && !IsOn(value)) return;
      Raw(before), Raw(fact.key), Raw("\":"), Value(value);
      before = ",\"";
    };
    Spec::Fields(visit, spec);
    Raw("}");
  }

 private:
  template <typename T>
  static constexpr bool IsOn(const T& value) {
    if constexpr (std::is_same_v<T, bool>) return value;
    return true;
  }

  template <typename T>
  constexpr void Value(const T& value) {
    if constexpr (facts::HasFields<T>) {
      Object(value);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      String(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      Boolean(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      Number(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      Integer(static_cast<int>(value));
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      value ? Number(*value) : Raw("null");
    } else {
      List(value, [this](const auto& item) { Value(item); });
    }
  }
};

}  // namespace medley::detail
