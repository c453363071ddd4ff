#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <medley/base/error.h>
#include <medley/base/version.h>

namespace medley {

// What else a run may go on from.
inline constexpr const char* kEarlierCheckpoint = "a checkpoint from before";

// "is of a newer medley (format 2, this one reads 1)"
std::string OfANewerMedley(const std::string& says);

// A newer medley wrote it, and this one cannot read it. That is no damage: nothing is set aside for it
// or dropped. A plan and its profile alone are made anew.
class NewerError : public InputError {
 public:
  // "WHAT is of a newer medley (SAYS). Use that medley, or OTHERWISE"; "": there is nothing else.
  NewerError(const std::string& what, const std::string& says, const std::string& otherwise = "");
  ~NewerError() override;
};

// Throws one where the number that an object has under a name is above the one that this medley reads. What
// else may stand there is for its reader to refuse.
template <typename Json>
void RefuseNewer(const Json& object, const char* name, std::int64_t read, const std::string& what,
                 const std::string& otherwise = "") {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end() || !found->is_number_integer() || *found <= read) return;
  throw NewerError(what, std::string(name) + " " + found->dump() + ", this one reads " + std::to_string(read),
                   otherwise);
}

// Whether a medley of this version ("0.10.0") came later.
bool IsLaterVersion(std::string_view version, std::string_view than = Version());

}  // namespace medley
