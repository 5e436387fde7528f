//! Times in rows: `timestamptz` on PostgreSQL, INTEGER microseconds on SQLite, so that both compare and sort alike.

use bailiwick_domain::Ts;
use sqlx::{
    Decode, Encode, Postgres, Sqlite, Type, encode::IsNull, error::BoxDynError, postgres::PgHasArrayType,
    postgres::PgTypeInfo,
};

/// SQL for the UTC day of a time column: days since 1970-01-01.
pub(crate) fn utc_day(column: &str) -> String {
    format!(
        "[[CAST(CAST({column} AT TIME ZONE 'UTC' AS date) - DATE '1970-01-01' AS BIGINT)||({column} / 86400000000)]]"
    )
}

/// Codec of [`Ts`]; use it as the field type of row structs and call `.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TsCodec(pub Ts);

impl From<TsCodec> for Ts {
    fn from(t: TsCodec) -> Ts {
        t.0
    }
}

/// The earliest time that PostgreSQL stores: day 0 of the Julian calendar. Earlier times become this one.
const EARLIEST: Ts = Ts::from_secs(-210_866_803_200);

impl Type<Postgres> for TsCodec {
    fn type_info() -> PgTypeInfo {
        <jiff_sqlx::Timestamp as Type<Postgres>>::type_info()
    }
}

impl PgHasArrayType for TsCodec {
    fn array_type_info() -> PgTypeInfo {
        <jiff_sqlx::Timestamp as PgHasArrayType>::array_type_info()
    }
}

impl<'q> Encode<'q, Postgres> for TsCodec {
    fn encode_by_ref(
        &self,
        buf: &mut <Postgres as sqlx::Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        <jiff_sqlx::Timestamp as Encode<'q, Postgres>>::encode(self.0.max(EARLIEST).to_jiff().into(), buf)
    }
}

impl<'r> Decode<'r, Postgres> for TsCodec {
    fn decode(value: <Postgres as sqlx::Database>::ValueRef<'r>) -> Result<Self, BoxDynError> {
        let time = <jiff_sqlx::Timestamp as Decode<'r, Postgres>>::decode(value)?;
        Ok(TsCodec(Ts::from(time.to_jiff())))
    }
}

impl Type<Sqlite> for TsCodec {
    fn type_info() -> <Sqlite as sqlx::Database>::TypeInfo {
        <i64 as Type<Sqlite>>::type_info()
    }
    fn compatible(ty: &<Sqlite as sqlx::Database>::TypeInfo) -> bool {
        <i64 as Type<Sqlite>>::compatible(ty)
    }
}

impl<'q> Encode<'q, Sqlite> for TsCodec {
    fn encode_by_ref(
        &self,
        buf: &mut <Sqlite as sqlx::Database>::ArgumentBuffer,
    ) -> Result<IsNull, BoxDynError> {
        <i64 as Encode<'q, Sqlite>>::encode(self.0.max(EARLIEST).0, buf)
    }
}

impl<'r> Decode<'r, Sqlite> for TsCodec {
    fn decode(value: <Sqlite as sqlx::Database>::ValueRef<'r>) -> Result<Self, BoxDynError> {
        <i64 as Decode<'r, Sqlite>>::decode(value).map(|n| TsCodec(Ts(n)))
    }
}
