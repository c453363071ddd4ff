#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace medley::world {

// The arena is the unit square. A picture shows it with x growing downwards (tensor rows) and y growing to
// the right (tensor columns): angle 0 points down, pi/2 points right, and a growing angle turns
// anticlockwise. "Left", "up" and so on always mean this view.
struct Point {
  double x = 0;
  double y = 0;
};

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kAgentRadius = 0.05;
inline constexpr double kGoldRadius = 1.0 / 64;
inline constexpr double kWallThickness = 1.0 / 16;
inline constexpr double kStep = 1.0 / 16;
inline constexpr double kTurn = kPi / 30;
inline constexpr double kNearDistance = 0.15;

// At most N values, stored in place: a state is copied without allocating.
template <typename T, std::size_t N>
class InlineList {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  static constexpr std::size_t capacity() { return N; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  T& operator[](std::size_t i) { return items_[i]; }
  void Add(const T& item) {
    if (size_ == N) throw std::length_error("InlineList is full");
    items_[size_++] = item;
  }
  void Remove(std::size_t i) {
    for (--size_; i < size_; ++i) items_[i] = items_[i + 1];
  }

 private:
  std::array<T, N> items_{};
  std::size_t size_ = 0;
};

// The points (x, y) + a (cos t, sin t) + b (-sin t, cos t), 0 <= a <= w, 0 <= b <= h, with t = angle.
struct Wall {
  double x = 0;
  double y = 0;
  double w = 0;
  double h = 0;
  double angle = 0;
};

// cos and sin of an angle, without rounding errors at the two that our walls have.
Point UnitVector(double angle);

// One position of the game, a value: nothing is eaten or moved until Act is called.
struct State {
  Point agent;
  double direction = 0;  // [0, 2 pi)
  InlineList<Point, 2> gold;
  InlineList<Wall, 7> walls;  // 4 or 5 of the sides, at most 2 inner ones
  double agent_radius = kAgentRadius;
  double gold_radius = kGoldRadius;
};

enum class Action : std::uint8_t { kNone = 0, kForward, kBackward, kClock, kAnticlock };

double WrapAngle(double angle);  // into [0, 2 pi)
double Distance(Point a, Point b);

// Whether a disc lies on a wall. Touching from outside is no collision.
bool Collides(const State& state, Point centre, double radius);

// The state after an action. A blocked step tries 13/224, 12/224, ..., 1/224; only its end point counts. Gold
// closer than the two radii is then eaten.
struct Moved {
  State state;
  int eaten = 0;
};
Moved Act(const State& state, Action action);

}  // namespace medley::world
