#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <medley/report/records.h>

namespace medley {

// What parts of steps took, by what they are: a form's draws, in rows; what a step does beside its draws,
// once a step. Where the seconds of draws are not known, steps of the same ones as a whole, in rows.
struct StepWork {
  struct Part {
    double amount = 0, seconds = 0;
  };
  std::map<std::string, Part> parts;

  void Add(const StepWork& other);
  double seconds() const;
};
StepWork WorkOf(const StepRecord& record);

// How long work takes as things usually are, whatever of it a mixture asks for: a step of costly tasks is no
// slow one.
class UsualSpeed {
 public:
  // Seconds that the work would take; nothing where it has parts of which too little is known.
  std::optional<double> Expected(const StepWork& work) const;
  // Of a step: its parts that are not known yet.
  void LearnNew(const StepWork& step);
  // Of many steps, as things were: later ones count as much as the fifty before.
  void Learn(const StepWork& work);

 private:
  struct Usual {
    double seconds = 0;                   // of one
    std::int64_t steps = 0, learned = 0;  // that it was seen in; times that it was learned
  };
  static bool IsKnown(const Usual& usual);
  std::map<std::string, Usual> usual_;
};

}  // namespace medley
