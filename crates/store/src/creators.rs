//! The creators of the entities in a scope: the choices of the `created_by` filters (spec: organizations#filters).

use crate::{
    Db, StoreError,
    creator_row::{push_near, push_shown, snapshot},
    scope::push_scope,
    sql::Q,
    systems::stats::push_newest_by_creator,
};
use bailiwick_domain::{OrgId, OrgType, UserId};
use bailiwick_policy::Scope;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// The entities whose creators are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// One family of organizations.
    Family(OrgType),
    Users,
    Systems,
}

impl Of {
    const fn table(self) -> &'static str {
        match self {
            Of::Family(_) => "organizations",
            Of::Users => "users",
            Of::Systems => "systems",
        }
    }

    /// The visible rows, as `r`.
    fn push_from(self, q: &mut Q, scope: &Scope) {
        if let Of::Family(family) = self {
            q.push(" FROM organizations r WHERE r.eff_deleted_at IS NULL AND r.type = ?")
                .arg(family.as_str());
            push_scope(q, "r", "id", scope);
        } else {
            q.push(&format!(
                " FROM {} r JOIN organizations o ON o.id = r.organization_id \
                 WHERE r.deleted_at IS NULL AND o.eff_deleted_at IS NULL",
                self.table()
            ));
            push_scope(q, "r", "organization_id", scope);
        }
    }
}

/// A user who created an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatorChoice {
    pub user_id: UserId,
    /// Their name at their last creation.
    pub name: String,
    /// Their e-mail address then.
    pub email: String,
    /// Their present organization with its present name; none when the user no longer exists, or a reader of the scope
    /// does not see it.
    pub organization: Option<(OrgId, String)>,
}

/// The latest snapshot of a creator, and their organization.
#[derive(sqlx_macros::FromRow)]
struct Row {
    creator: Uuid,
    created_by: Option<Value>,
    home: Option<Uuid>,
    home_name: Option<String>,
}

impl Row {
    fn into_choice(self) -> Result<Option<CreatorChoice>, StoreError> {
        Ok(snapshot(self.created_by)?.map(|snapshot| CreatorChoice {
            user_id: UserId(self.creator),
            name: snapshot.name,
            email: snapshot.email,
            organization: self.home.map(OrgId).zip(self.home_name),
        }))
    }
}

/// One entry for each user who created a row of the scope that is not deleted, with the snapshot of their latest
/// creation; in no order. Creators of a branch that a reader of the scope does not see, who created what has moved
/// since, are left out.
pub async fn creators(db: &Db, of: Of, scope: &Scope) -> Result<Vec<CreatorChoice>, StoreError> {
    let mut q = Q::new("SELECT k.creator, s.created_by, ho.id AS home, ho.name AS home_name FROM (");
    let row = ("s", if matches!(of, Of::Family(_)) { "id" } else { "organization_id" });
    if of == Of::Systems {
        // There are far more systems than creators.
        push_newest_by_creator(&mut q, scope);
    } else {
        q.push(
            "[[SELECT DISTINCT ON (r.creator_user_id) r.creator_user_id AS creator, r.id AS id||\
             SELECT r.creator_user_id AS creator, r.id AS id, MAX(r.created_at) AS latest]]",
        );
        of.push_from(&mut q, scope);
        q.push(" AND r.creator_user_id IS NOT NULL ");
        // SQLite takes the other columns from the row with the greatest time.
        q.push("[[ORDER BY r.creator_user_id, r.created_at DESC||GROUP BY r.creator_user_id]]");
    }
    q.push(&format!(
        ") k JOIN {} s ON s.id = k.id LEFT JOIN users h ON h.id = k.creator \
         LEFT JOIN organizations ho ON ho.id = h.organization_id",
        of.table()
    ));
    if *scope != Scope::Everything {
        q.push(" AND ");
        push_near(&mut q, "ho.id", row, scope);
        q.push(" WHERE 1 = 1");
    }
    push_shown(&mut q, row, scope);
    let rows: Vec<Row> = q.all(db).await?;
    rows.into_iter().filter_map(|row| row.into_choice().transpose()).collect()
}
