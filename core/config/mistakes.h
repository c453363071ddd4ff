#pragma once

#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/json_document.h>

namespace medley {

// Something wrong with what a user wrote, and where.
struct Mistake {
  std::string file;   // "": the message names it
  SourcePosition at;  // line 0: of the file as a whole
  std::string message;
};

// What Diagnostics throw: the message lists them all.
class Mistakes : public InputError {
 public:
  Mistakes(const std::string& message, std::vector<Mistake> mistakes);
  ~Mistakes() override;
  const std::vector<Mistake>& list() const { return mistakes_; }

 private:
  std::vector<Mistake> mistakes_;
};

}  // namespace medley
