#pragma once

#include <optional>
#include <string_view>
#include <type_traits>

#include <medley/base/constexpr_json.h>
#include <medley/base/facts.h>

namespace medley::detail {

// Writes specs into a plugin's note.
class FactsWriter : public ConstexprJson {
 public:
  using ConstexprJson::ConstexprJson;

  template <typename Spec>
  constexpr void Object(const Spec& spec) {
    before_ = "{\"";
    Spec::Fields(*this, spec);
    Raw("}");
  }

  // What Fields calls.
  template <typename T>
  constexpr void operator()(const facts::Fact& fact, const T& value) {
    if (fact.only_given && IsNothing(value)) return;
    Raw(before_), Raw(fact.key), Raw("\":"), Value(value);
    before_ = ",\"";
  }

 private:
  template <typename T>
  static constexpr bool IsNothing(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return value == T();
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else {
      return false;
    }
  }

  template <typename T>
  constexpr void Value(const T& value) {
    if constexpr (std::is_same_v<T, std::string_view>) {
      String(value);
    } else if constexpr (std::is_same_v<T, bool>) {
      Boolean(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      Number(value);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      Integer(static_cast<int>(value));
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      value ? Number(*value) : Raw("null");
    } else if constexpr (requires { value.fits(); }) {
      List(value, [this](const auto& item) { Value(item); });
    } else {
      Object(value);
    }
  }

  std::string_view before_{};  // the next field
};

}  // namespace medley::detail
