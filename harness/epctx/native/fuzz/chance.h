// What a target takes for chance is the same in each call: a fuzzer would take every new number for something new that it
// reached, and no round would come to the same as another.
#pragma once

namespace epctx {

// To be called before each call on the target.
void RestartChance();

}  // namespace epctx
