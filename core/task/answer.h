#pragma once

#include <string>

namespace medley {

// A question in words as an evaluation put it to the model, for people to read.
struct Answer {
  std::string question;
  std::string reply;  // the model's
  std::string right;  // a reply that counts as right
  bool is_right = false;
  bool is_measured = false;  // it is neither right nor wrong: a number, that is near or far
};

}  // namespace medley
