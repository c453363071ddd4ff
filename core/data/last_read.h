#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace medley {

// What this thread read last of data files, so that an error over a row can say where the row stands: drivers
// know a row's number, and what others than medley throw (nlohmann's type_error, std::stod) knows no file.
// Costs no look at the file until a place is asked for, and keeps none open.

// A record that begins at this byte.
void NoteRead(const std::filesystem::path& file, std::uint64_t begin);
// That it is used again, which was read before.
void NoteUse(const std::filesystem::path& file, std::uint64_t begin);
// A file that is an item by itself, or that a record names.
void NoteFile(const std::filesystem::path& file);
void ForgetRead();
bool WasRead();  // a record, since ForgetRead

// "FILE:LINE" of the record; of a file behind it or alone "FILE"; "" where nothing was read since ForgetRead.
std::string PlaceOfLastRead();
// Words about what was read last, with the place in front unless they name the file.
std::string WithPlace(const std::string& words);
// Throws what a stranger's exception says: of nlohmann's an InputError WithPlace; of another's an Error that
// names the place behind it, as nobody knows whether it is about the record.
[[noreturn]] void ThrowOfLastRead(const std::string& words);

}  // namespace medley
