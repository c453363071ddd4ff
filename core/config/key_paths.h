#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/config/field_writer.h>

namespace medley {

// Every key of a file with this schema, by its way from the top: "optimizer.learning_rate", and with "*" for
// a name or a number that the file chooses, "tasks.*.rows". What contains itself is not entered.
std::vector<std::string> KeyPathsIn(const nlohmann::ordered_json& schema);

// Of a struct that is a file of its own.
template <typename T>
std::vector<std::string> KeyPathsOf() {
  return KeyPathsIn(SchemaWriter::Object<T>());
}

}  // namespace medley
