#include "firn/look.h"

// Albedos are those of a scattering: deep snow sends back the share that van de Hulst's formula
// gives, about 0.92, 0.93 and 0.96 of red, green and blue for fresh snow. Measured: 0.95 to 0.98
// for clean fresh snow in visible light, less with age, water and soot (Warren 1982).
// clang-format off
static const firn_look looks[] = {
    {"fresh", 724.0f, {0.9992f, 0.9995f, 0.9998f}, 0.5f, 0.4f, 0.05f, 3.0f,
     "Clean snow of a cold day: white, blue only in the depth of holes"},
    {"powder", 450.0f, {0.9994f, 0.9996f, 0.9998f}, 0.5f, 0.5f, 0.08f, 2.5f,
     "Loose and light: softer, more glints"},
    {"packed", 1000.0f, {0.9985f, 0.9991f, 0.9997f}, 0.5f, 0.3f, 0.03f, 4.0f,
     "Pressed by feet and wheels: denser, a little darker, dull"},
    {"wet", 320.0f, {0.9940f, 0.9965f, 0.9985f}, 0.7f, 0.7f, 0.12f, 8.0f,
     "Thawing: greyer, light goes deep, broad shine"},
    {"dirty", 724.0f, {0.9860f, 0.9800f, 0.9700f}, 0.5f, 0.3f, 0.02f, 5.0f,
     "Beside a road: grey and brown"},
    {"paper", 724.0f, {0.9f, 0.95f, 1.0f}, 0.5f, 0.4f, 0.05f, 3.0f,
     "The numbers of Stomakhin et al. 2013: ice-blue"},
};
// clang-format on

const firn_look *firn_look_at(int index)
{
    return index >= 1 && (size_t)index <= FIRN_COUNT(looks) ? &looks[index - 1] : NULL;
}
