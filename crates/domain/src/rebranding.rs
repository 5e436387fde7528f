//! The words of rebranding: products, assets and the kinds of image they may be (spec: rebranding#products).

use crate::fold::fold;
use serde::{Deserialize, Serialize};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// The kind of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProductType {
    /// Runs on a system.
    Application,
    /// Is the system.
    System,
}

impl ProductType {
    /// Both of them.
    pub const ALL: [ProductType; 2] = [ProductType::Application, ProductType::System];

    /// The word of the wire and of the settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            ProductType::Application => "application",
            ProductType::System => "system",
        }
    }

    /// From that word.
    pub fn parse(word: &str) -> Option<ProductType> {
        ProductType::ALL.into_iter().find(|t| t.as_str() == word)
    }
}

/// A product that can be rebranded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Its word in paths.
    pub id: String,
    /// Its name without rebranding.
    pub display_name: String,
    /// Its kind.
    pub product_type: ProductType,
}

impl Product {
    /// The order of lists: by type, then by display name ignoring case.
    pub fn order(&self) -> impl Ord + use<> {
        (self.product_type, fold(&self.display_name), self.id.clone())
    }
}

/// The kinds of image, recognized by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Png,
    Jpeg,
    Webp,
    /// Windows icon.
    Icon,
    Svg,
}

impl Media {
    /// All of them.
    pub const ALL: [Media; 5] = [Media::Png, Media::Jpeg, Media::Webp, Media::Icon, Media::Svg];

    /// Its media type, as it is stored and served.
    pub const fn content_type(self) -> &'static str {
        match self {
            Media::Png => "image/png",
            Media::Jpeg => "image/jpeg",
            Media::Webp => "image/webp",
            Media::Icon => "image/x-icon",
            Media::Svg => "image/svg+xml",
        }
    }

    /// Extension of its files, without dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Media::Png => "png",
            Media::Jpeg => "jpg",
            Media::Webp => "webp",
            Media::Icon => "ico",
            Media::Svg => "svg",
        }
    }

    /// From a media type without parameters, in any case. Icons have two names.
    pub fn parse(content_type: &str) -> Option<Media> {
        if content_type.eq_ignore_ascii_case("image/vnd.microsoft.icon") {
            return Some(Media::Icon);
        }
        Media::ALL.into_iter().find(|media| media.content_type().eq_ignore_ascii_case(content_type))
    }
}

/// An asset of a product, in the order in which documents show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asset {
    /// Wide, on a light ground.
    LogoLightRect,
    /// Wide, on a dark ground.
    LogoDarkRect,
    /// Square, on a light ground.
    LogoLightSquare,
    /// Square, on a dark ground.
    LogoDarkSquare,
    /// Icon of the page.
    Favicon,
    /// Behind the page.
    BackgroundImage,
}

impl Asset {
    /// All of them.
    pub const ALL: [Asset; 6] = [
        Asset::LogoLightRect,
        Asset::LogoDarkRect,
        Asset::LogoLightSquare,
        Asset::LogoDarkSquare,
        Asset::Favicon,
        Asset::BackgroundImage,
    ];

    /// Its name in paths, forms and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Asset::LogoLightRect => "logo_light_rect",
            Asset::LogoDarkRect => "logo_dark_rect",
            Asset::LogoLightSquare => "logo_light_square",
            Asset::LogoDarkSquare => "logo_dark_square",
            Asset::Favicon => "favicon",
            Asset::BackgroundImage => "background_image",
        }
    }

    /// From its name, character by character.
    pub fn parse(name: &str) -> Option<Asset> {
        Asset::ALL.into_iter().find(|asset| asset.as_str() == name)
    }

    /// Largest file, in bytes.
    pub const fn max_bytes(self) -> u64 {
        match self {
            Asset::Favicon => 512 * KIB,
            Asset::BackgroundImage => 5 * MIB,
            _ => 2 * MIB,
        }
    }

    /// Whether a file of this kind can be it.
    pub const fn takes(self, media: Media) -> bool {
        match media {
            Media::Png | Media::Svg => true,
            Media::Webp => !matches!(self, Asset::Favicon),
            Media::Jpeg => matches!(self, Asset::BackgroundImage),
            Media::Icon => matches!(self, Asset::Favicon),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for asset in Asset::ALL {
            assert_eq!(Asset::parse(asset.as_str()), Some(asset));
        }
        for media in Media::ALL {
            assert_eq!(Media::parse(&media.content_type().to_ascii_uppercase()), Some(media));
        }
        assert_eq!(Media::parse("image/vnd.microsoft.icon"), Some(Media::Icon));
        assert_eq!((Asset::parse("Favicon"), Media::parse("image/gif")), (None, None));
        assert_eq!(ProductType::parse("system"), Some(ProductType::System));
    }

    #[test]
    fn products_are_sorted_by_type_and_then_by_display_name() {
        let product = |id: &str, display_name: &str, product_type| Product {
            id: id.into(),
            display_name: display_name.into(),
            product_type,
        };
        let mut all = [
            product("ns8", "NS8", ProductType::System),
            product("nsec", "NethSecurity", ProductType::System),
            product("nethvoice", "NethVoice", ProductType::Application),
            product("webtop", "NethService", ProductType::Application),
        ];
        all.sort_by_key(Product::order);
        assert_eq!(all.each_ref().map(|p| p.id.as_str()), ["webtop", "nethvoice", "nsec", "ns8"]);
    }
}
