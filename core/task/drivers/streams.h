#pragma once

#include <cstdint>

namespace medley {

// Independent random numbers of one row, so that a change of the texts never moves the scenes.
inline constexpr std::uint64_t kSceneStream = 0;
inline constexpr std::uint64_t kTextStream = 1;
inline constexpr std::uint64_t kControlTextStream = 2;
inline constexpr std::uint64_t kSecondControlTextStream = 3;
inline constexpr std::uint64_t kStrangerStream = 4;  // of a board that is only judged by
inline constexpr std::uint64_t kLessonStream = 5;    // whether a row is taught

}  // namespace medley
