#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace medley {

// A run, or the runs below a directory, that is looked at again and again.
class Watched {
 public:
  virtual ~Watched() = default;

  // Reads anew what changed since the last time; false: nothing did. An InputError where a file is damaged.
  virtual bool Look() = 0;
  // As of the last look, for people: all of it, and in a line.
  virtual std::string Words() const = 0;
  virtual std::string Progress() const = 0;
  // As of the last look, in a line.
  virtual std::string Json() const = 0;
  // Whether something trained, or was about to, when the last look began.
  virtual bool GoesOn() const = 0;
  // Whether another may begin where none does.
  virtual bool MayBeginAgain() const = 0;
};

// Of the run in the directory, also of one that begins just now; else of those below it. An InputError where
// there is none.
std::unique_ptr<Watched> Watch(const std::filesystem::path& directory);

}  // namespace medley
