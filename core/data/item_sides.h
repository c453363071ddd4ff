#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <medley/data/data_rules.h>

namespace medley {

// What follows from a share and the hashes of items.

std::string WordOf(std::uint64_t hash);  // 16 digits
// Of items that are held out, in a word: the same of equal ones, in whatever order.
std::string RowsWord(std::span<const std::uint64_t> held_out);

std::int64_t CountHeldOut(const HeldOutShare& share, std::span<const std::uint64_t> hashes);
// The hash that goes to the other side where one has none; those that went to theirs for ever stay.
std::optional<std::uint64_t> Nearest(const HeldOutShare& share, std::span<const std::uint64_t> hashes);
// `held_out`: how many are.
DividedItems DivideBy(const HeldOutShare& share, std::span<const std::uint64_t> hashes,
                      std::int64_t held_out);

// How many of the items that a share holds out the run that weights come from, or one that it took its own
// from, may have trained on; and what to say of it, "" for nothing.
struct SeenItems {
  std::int64_t count = 0;
  std::string words;
};
SeenItems SeenBefore(const EarlierItems& from, const HeldOutItems& asked, const HeldOutShare& share,
                     std::span<const std::uint64_t> hashes);

}  // namespace medley
