/// What colliders are given: the impulses of a substep, added up in the order of blocks, and the
/// forces of a call of firn_sim_step that follow from them, method.md (40).
///
/// Snow that sleeps is not computed, but goes on pressing. In the substep that follows a sort it is
/// on the grid too, and what colliders take at the nodes it holds is measured; until the next sort
/// that force stays. When snow falls asleep or wakes in between, the force on a collider does not
/// jump: what the awake press less, the sleeping press more. Every call begins with a sort, so that
/// nothing of this outlives a call.
#include "contact/collider_state.h"
#include "sim_state.h"

#include <math.h>
#include <string.h>

static firn_contact_account *accounts_of(const firn_sim *sim) { return sim->contact.accounts.data; }

firn_result firn_contact_begin(firn_sim *sim, firn_error *error)
{
    firn_touching *contact = &sim->contact;
    size_t count = (size_t)sim->colliders.slot_count;
    FIRN_TRY(firn_array_claim(&sim->budget, &contact->accounts, count, sizeof(firn_contact_account),
                              error));
    contact->account_count = (int)count;
    contact->seconds = 0.0;
    contact->resettled = false;
    for (int i = 0; i < contact->account_count; i++)
        accounts_of(sim)[i] = (firn_contact_account){
            .generation = firn_collider_slot(&sim->colliders, i)->generation};
    return FIRN_OK;
}

// The one sum over blocks: entries lie in the order of blocks, those of a block in the order of
// colliders.
static void add_in_block_order(firn_contact_account *accounts, const firn_contact_lists *lists,
                               firn_rank_range blocks, const firn_impulse *taken, size_t member)
{
    if (lists->entry_count == 0)
        return;
    const int *colliders = lists->colliders.data;
    const uint32_t *begin = lists->begin.data;
    for (size_t e = begin[blocks.begin]; e < begin[blocks.end]; e++) {
        char *account = (char *)&accounts[colliders[e]];
        firn_impulse_add_scaled((firn_impulse *)(account + member), 1.0, &taken[e]);
    }
}

// What the nodes give that this rank owns.
static void add_nodes(void *accounts, void *context)
{
    const firn_sim *sim = context;
    const firn_touching *contact = &sim->contact;
    firn_rank_range own = firn_owners_nodes(&sim->owners, contact->nodes.block_count);
    add_in_block_order(accounts, &contact->nodes, own, contact->nodes.taken.data,
                       offsetof(firn_contact_account, now));
    if (sim->rest.asleep_count > 0)
        add_in_block_order(accounts, &contact->nodes, own, contact->held.data,
                           offsetof(firn_contact_account, holding));
}

static void add_particles(void *accounts, void *context)
{
    const firn_contact_lists *lists = &((const firn_sim *)context)->contact.particles;
    add_in_block_order(accounts, lists, (firn_rank_range){0, lists->block_count}, lists->taken.data,
                       offsetof(firn_contact_account, now));
}

// What sleeping snow presses with from now on, N and N m.
static firn_impulse asleep_force(const firn_sim *sim, const firn_contact_account *account,
                                 double dt, bool measured)
{
    firn_impulse force = {{0.0}, {0.0}};
    if (sim->rest.asleep_count == 0)
        return force;
    if (measured) {
        firn_impulse_add_scaled(&force, 1.0 / dt, &account->holding);
        return force;
    }
    force = account->asleep;
    if (sim->contact.resettled) {
        firn_impulse_add_scaled(&force, 1.0, &account->awake);
        firn_impulse_add_scaled(&force, -1.0 / dt, &account->now);
    }
    return force;
}

// The torque of an impulse about the point that the collider turns about.
static void add_torque(const firn_sim *sim, int index, const firn_impulse *impulse)
{
    firn_contact_account *account = &accounts_of(sim)[index];
    firn_vec3 pivot = firn_collider_slot(&sim->colliders, index)->active
                          ? firn_collider_pivot(&sim->colliders, index)
                          : firn_vec((float)account->pivot[0], (float)account->pivot[1],
                                     (float)account->pivot[2]);
    const double x[3] = {pivot.x, pivot.y, pivot.z}, *p = impulse->linear;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        account->torque[i] += impulse->angular[i] - (x[j] * p[k] - x[k] * p[j]);
        account->pivot[i] = x[i];
    }
}

void firn_contact_add(firn_sim *sim, int index, const firn_impulse *impulse)
{
    const double *p = impulse->linear;
    if (index >= sim->contact.account_count || (p[0] == 0.0 && p[1] == 0.0 && p[2] == 0.0))
        return;
    firn_impulse_add_scaled(&accounts_of(sim)[index].sum, 1.0, impulse);
    add_torque(sim, index, impulse);
}

static void add_substep(const firn_sim *sim, int index, double dt, bool measured)
{
    firn_contact_account *account = &accounts_of(sim)[index];
    account->asleep = asleep_force(sim, account, dt, measured);
    account->awake = (firn_impulse){{0.0}, {0.0}};
    firn_impulse_add_scaled(&account->awake, 1.0 / dt, &account->now);
    firn_impulse_add_scaled(&account->now, dt, &account->asleep);
    firn_impulse_add_scaled(&account->sum, 1.0, &account->now);
    add_torque(sim, index, &account->now);
    const double *p = account->now.linear;
    double force = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / dt;
    account->peak = fmax(account->peak, force);
}

void firn_contact_commit(firn_sim *sim, double dt, bool measured)
{
    firn_touching *contact = &sim->contact;
    firn_contact_account *accounts = accounts_of(sim);
    for (int i = 0; i < contact->account_count; i++)
        accounts[i].now = accounts[i].holding = (firn_impulse){{0.0}, {0.0}};
    // All nodes come before all particles.
    size_t bytes = (size_t)contact->account_count * sizeof *accounts;
    if (bytes > 0) {
        firn_owners_fold(&sim->owners, accounts, bytes, add_nodes, sim);
        firn_owners_fold(&sim->owners, accounts, bytes, add_particles, sim);
    }
    for (int i = 0; i < contact->account_count; i++)
        add_substep(sim, i, dt, measured);
    contact->seconds += dt;
    contact->resettled = false;
}

firn_result firn_sim_collider_force(const firn_sim *sim, firn_collider_id id,
                                    firn_collider_force *force, firn_error *error)
{
    firn_collider *collider = NULL;
    FIRN_TRY(firn_colliders_find(&sim->colliders, id, &collider, error));
    memset(force, 0, sizeof *force);
    int index = (int)id.index1 - 1;
    const firn_touching *contact = &sim->contact;
    // One that is new has not been touched yet.
    if (index >= contact->account_count || !(contact->seconds > 0.0) ||
        accounts_of(sim)[index].generation != id.generation)
        return FIRN_OK;
    const firn_contact_account *account = &accounts_of(sim)[index];
    force->seconds = contact->seconds;
    force->peak = account->peak;
    for (int i = 0; i < 3; i++) {
        force->force[i] = account->sum.linear[i] / contact->seconds;
        force->torque[i] = account->torque[i] / contact->seconds;
        force->origin_torque[i] = account->sum.angular[i] / contact->seconds;
        force->asleep[i] = account->asleep.linear[i];
        force->pivot[i] = account->pivot[i];
    }
    return FIRN_OK;
}
