#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Writes JSON while the compiler runs: the text is made twice, once to count and once to fill.
namespace medley::detail {

class ConstexprJson {
 public:
  // Null: to count.
  constexpr explicit ConstexprJson(char* out) : out_(out) {}

  constexpr std::size_t size() const { return size_; }

  constexpr void Raw(std::string_view text) {
    for (std::size_t i = 0; out_ != nullptr && i < text.size(); ++i) out_[size_ + i] = text[i];
    size_ += text.size();
  }

  constexpr void String(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    Put('"');
    // What needs no escape is put at once: the compiler takes its time for each call.
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x20 && text[i] != '"' && text[i] != '\\') continue;
      Raw(text.substr(begin, i - begin));
      begin = i + 1;
      if (byte >= 0x20) {
        Put('\\'), Put(text[i]);
      } else {
        Raw("\\u00"), Put(kHex[byte >> 4]), Put(kHex[byte & 15]);
      }
    }
    Raw(text.substr(begin)), Put('"');
  }

  constexpr void Integer(std::int64_t value) {
    char digits[20];
    int count = 0;
    std::uint64_t rest =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    do digits[count++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0) Put('-');
    while (count > 0) Put(digits[--count]);
  }

  // The shortest decimal that is the same double, so that 0.001 stays "0.001".
  constexpr void Number(double value) {
    if (value < 0) Put('-');
    const long double size = value < 0 ? -static_cast<long double>(value) : static_cast<long double>(value);
    if (size == 0) return Put('0');
    int exponent = 0;  // of the leading digit
    for (long double x = size; x >= 10; x /= 10) ++exponent;
    while (size < Power(exponent)) --exponent;
    int digits = 1;
    while (digits < 17 && static_cast<double>(Scaled(Leading(size, exponent, digits),
                                                     exponent - digits + 1)) != static_cast<double>(size)) {
      ++digits;
    }
    Decimal(Leading(size, exponent, digits), digits, exponent);
  }

  constexpr void Boolean(bool value) { Raw(value ? "true" : "false"); }

  template <typename Items, typename Fn>
  constexpr void List(const Items& items, Fn write) {
    Put('[');
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) Put(',');
      write(items[i]);
    }
    Put(']');
  }

 private:
  static constexpr long double Power(int exponent) {
    long double power = 1;
    for (int i = 0; i < exponent; ++i) power *= 10;
    for (int i = 0; i > exponent; --i) power /= 10;
    return power;
  }
  // Powers up to 10^27 are exact, so one rounding is all that a decimal of usual length suffers.
  static constexpr long double Scaled(std::uint64_t digits, int exponent) {
    const auto value = static_cast<long double>(digits);
    return exponent < 0 ? value / Power(-exponent) : value * Power(exponent);
  }
  static constexpr std::uint64_t Leading(long double size, int exponent, int digits) {
    const int shift = digits - 1 - exponent;
    return static_cast<std::uint64_t>((shift < 0 ? size / Power(-shift) : size * Power(shift)) + 0.5L);
  }

  // `value` has `count` digits, or one more (rounded up to a power of ten).
  constexpr void Decimal(std::uint64_t value, int count, int exponent) {
    char text[24];
    int size = 0;
    for (std::uint64_t rest = value; rest != 0; rest /= 10) ++size;
    exponent += size - count;
    while (value % 10 == 0) value /= 10;
    for (size = 0; value != 0; value /= 10) text[size++] = static_cast<char>('0' + value % 10);
    const auto digit = [&](int i) { return i < size ? text[size - 1 - i] : '0'; };
    if (exponent < -7 || exponent > 17) {
      Put(digit(0));
      if (size > 1) Put('.');
      for (int i = 1; i < size; ++i) Put(digit(i));
      Put('e');
      return Integer(exponent);
    }
    if (exponent < 0) Raw("0.");
    for (int i = exponent + 1; i < 0; ++i) Put('0');
    for (int i = 0; i < size || i <= exponent; ++i) {
      if (i == exponent + 1 && exponent >= 0) Put('.');
      Put(digit(i));
    }
  }

  constexpr void Put(char c) {
    if (out_ != nullptr) out_[size_] = c;
    ++size_;
  }

  char* out_;
  std::size_t size_ = 0;
};

}  // namespace medley::detail
