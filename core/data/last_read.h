#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <medley/data/record_index.h>

namespace medley {

// Which record of a data file this thread read last: others than medley throw over its contents (nlohmann's
// type_error, std::stod), and their words know no file. Costs no look at the file until a place is asked for,
// and keeps none open.
void NoteRead(const std::shared_ptr<const RecordIndex>& file, std::int64_t record);
void ForgetRead();
bool WasRead();  // a record, since ForgetRead

// Throws what a stranger's exception says: of nlohmann's an InputError "FILE:LINE: ..." with the place of the
// record; of another's an Error that names the place behind it. An Error of the words alone where nothing was
// read since ForgetRead.
[[noreturn]] void ThrowOfLastRead(const std::string& words);

}  // namespace medley
