#include <medley/config/budget_request.h>

#include <charconv>
#include <cmath>
#include <optional>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

[[noreturn]] void Fail(std::string_view text) {
  throw InputError(
      "expected bytes (6GiB, 512MiB, 6442450944), a fraction of what the device has (0.5, 50%), or "
      "\"free\" for what is free; found '" +
      Printable(text) + "'");
}

// Of a text that is nothing but a number.
std::optional<double> ToNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

BudgetRequest ParseBudget(std::string_view given) {
  const std::string_view text = Trim(given);
  if (text.empty() || text == "free") return {};
  std::optional<double> fraction;
  if (text.back() == '%') {
    fraction = ToNumber(Trim(text.substr(0, text.size() - 1)));
    if (!fraction) Fail(given);
    *fraction /= 100;
  } else if (const std::optional<double> number = ToNumber(text); number && *number <= 1) {
    fraction = number;
  }
  if (fraction) {
    if (!(*fraction > 0) || *fraction > 1) Fail(given);
    return {.kind = BudgetRequest::Kind::kFraction, .fraction = *fraction};
  }
  BudgetRequest request{.kind = BudgetRequest::Kind::kBytes};
  try {
    request.bytes = ParseBytes(text);
  } catch (const InputError&) {
    Fail(given);
  }
  if (request.bytes <= 0) Fail(given);
  return request;
}

}  // namespace medley
