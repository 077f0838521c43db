/* What a call refuses, and how. Exits with the number of the first expectation that doesn't hold. */
#include "bounded.h"

static _Alignas(BOUNDED_ARENA_ALIGN) unsigned char arena[BOUNDED_ARENA_BYTES + 1];
static float x[BOUNDED_INPUT_X_MAX_ELEMENTS], y[BOUNDED_OUTPUT_Y_MAX_ELEMENTS];

#define EXPECT(number, call, status) \
    if ((call) != (status)) return number

int main(void) {
    bounded_inputs in = {.N = BOUNDED_SIZE_N_MAX, .x = x};
    bounded_outputs out = {.y = y};
    EXPECT(1, bounded_run(&in, &out, arena), BOUNDED_OK);
    EXPECT(2, bounded_run(0, &out, arena), BOUNDED_ERROR_ARGUMENT);
    EXPECT(3, bounded_run(&in, 0, arena), BOUNDED_ERROR_ARGUMENT);
    EXPECT(4, bounded_run(&in, &out, 0), BOUNDED_ERROR_ARGUMENT);
    EXPECT(5, bounded_run(&in, &out, arena + 1), BOUNDED_ERROR_ARGUMENT);
    in.x = 0;
    EXPECT(6, bounded_run(&in, &out, arena), BOUNDED_ERROR_ARGUMENT);
    in.x = x;
    in.N = BOUNDED_SIZE_N_MAX + 1;
    EXPECT(7, bounded_run(&in, &out, arena), BOUNDED_ERROR_SIZE);
    in.N = BOUNDED_SIZE_N_MIN - 1;
    EXPECT(8, bounded_run(&in, &out, arena), BOUNDED_ERROR_SIZE);
    return 0;
}
