#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

namespace medley {

// Names a form of a task, in a run and in its files: the task's name where the settings are the config's own,
// else with a hash of them behind it, "zoom@1f3a9c". A type of its own, so that nobody takes one for a task.
class FormId {
 public:
  FormId() = default;  // of no form
  explicit FormId(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }

  auto Fields() { return std::tie(text_); }  // for another process: see Wire

  friend std::strong_ordering operator<=>(const FormId&, const FormId&) = default;

 private:
  std::string text_;
};

}  // namespace medley

template <>
struct std::hash<medley::FormId> {
  std::size_t operator()(const medley::FormId& form) const noexcept {
    return std::hash<std::string>()(form.text());
  }
};
