// What a target needs that the runtime does not have: found out before it is loaded for good.
#pragma once

#include <string>

namespace epctx {

// Loads the target in a process that is then gone, and has it read through a callback. True if it does not come to the callback
// and has looked for functions of another generation than the runtime's on its way.
bool NeedsLoan(const char* file, const char* options);

}  // namespace epctx
